//! Files that a command takes as code, told from those that it only reads.

use haft_shell_quote::programs::names_code;

/// Commands with the words that name code after `|`, by their indexes.
const COMMANDS: [&str; 20] = [
    "sh list data|1",
    "bash -e -- list data|3",
    "python3 -u list.py data|2",
    "node -r ./hook list data|2 3",
    "node --import=./hook list|1 2",
    "java -jar server data|2",
    "awk -f program data|2",
    "awk --file=program data|1",
    "sed -nf program data|2",
    "sed --file=program data|1",
    "make -s -f rules all|3",
    "make --file=rules all|1",
    "curl -K options address|2",
    "env A=b timeout 9 sh list data|1 2 4 5",
    "nice -n 1 program data|3",
    "cat data|",
    "sqlite3 data|",
    "grep -f patterns data|",
    "python3 -c print(open('data').read())|",
    "unknown --database=data data|",
];

#[test]
fn a_file_that_a_command_takes_as_code_is_told_from_data() {
    for command in COMMANDS {
        let (words, code) = command.split_once('|').expect("both are there");
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let found: Vec<String> = (1..words.len())
            .filter(|index| !words[*index].starts_with('-') || words[*index].contains('='))
            .filter(|index| names_code(&words, *index))
            .map(|index| index.to_string())
            .collect();
        assert_eq!(found.join(" "), code, "{command}");
    }
}
