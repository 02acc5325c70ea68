# What `haft list` does with the executables of a folder, one after another.
for tool in "$1"/*; do "$tool" --schema; done
