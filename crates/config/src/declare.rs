//! Declaration of settings: each setting is written once, in a `settings!` block.
//!
//! A block declares a struct. Each field of it that is a setting has a type, a default as a user
//! would write it, a kind, and where they differ from the rule a key, an environment variable and
//! the reason for which a project's file must not set it. Everything else is derived: the defaults
//! ([`defaults`]), the parser of `config.yaml` (`file`), the variables (`layers`), the JSON Schema
//! and the list of settings (`reference`).
//!
//! A kind is a function that takes the field and returns a [`Slot`]: the form of its values, and
//! the way in which they are parsed and stored.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_process::StateDir;
use haft_tool::{ApprovalMode, Isolation, Rule, Tier, ToolPattern};

use super::{Permission, PermissionKind, PermissionSource, parse_duration, paths};

/// Type of a setting with a single value.
pub(super) trait Value: Sized {
    const FORM: Form;

    /// Parses the value. The error is a fragment for people.
    fn parse(text: &str) -> Result<Self, String>;
}

/// Declares a struct of settings, and after `computed` its fields that are not settings.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $(
                $(#[doc = $doc:literal])+
                pub $field:ident $(as $key:literal)? : $T:ty = $default:expr $(=> $kind:expr)?
                $(, env $env:literal)? $(, user $user:literal)? ;
            )*
            $( computed { $( $(#[$about:meta])* $vis:vis $computed:ident : $C:ty, )* } )?
        }
    ) => {
        $(#[$meta])*
        pub struct $Name {
            $( $(#[doc = $doc])+ pub $field: $T, )*
            $( $( $(#[$about])* $vis $computed: $C, )* )?
        }

        impl $crate::declare::Settings for $Name {
            fn unset() -> Self {
                $Name {
                    $( $field: Default::default(), )*
                    $( $( $computed: Default::default(), )* )?
                }
            }

            fn fields(&mut self) -> Vec<$crate::declare::Field<'_>> {
                $crate::declare::fields!(self {
                    $(
                        $(#[doc = $doc])+
                        $field $(as $key)? = $default $(=> $kind)? $(, env $env)? $(, user $user)? ;
                    )*
                })
            }
        }
    };
}
pub(super) use settings;

/// Lists the settings of an existing struct, as [`settings!`] does.
macro_rules! fields {
    ($this:ident { $(
        $(#[doc = $doc:literal])+
        $field:ident $(as $key:literal)? = $default:expr $(=> $kind:expr)?
        $(, env $env:literal)? $(, user $user:literal)? ;
    )* }) => {
        vec![ $( $crate::declare::Field {
            key: [$($key,)? stringify!($field)][0],
            about: concat!($($doc),+),
            default: $default,
            variable: [$(Some($env),)? None][0],
            user_only: [$(Some($user),)? None][0],
            slot: $crate::declare::kind!($($kind)?)(&mut $this.$field),
        } ),* ]
    };
}
pub(super) use fields;

/// Returns the kind of a setting: without one it is a single value of its type.
macro_rules! kind {
    () => {
        $crate::declare::value
    };
    ($kind:expr) => {
        $kind
    };
}
pub(super) use kind;

/// Struct whose fields are settings.
pub(super) trait Settings: Sized {
    /// Returns the struct with empty fields.
    fn unset() -> Self;

    /// Returns the settings in the order of their declaration.
    fn fields(&mut self) -> Vec<Field<'_>>;
}

/// A setting: its declaration, and access to its value.
pub(super) struct Field<'a> {
    /// Key in its block; empty if only a variable sets it.
    pub(super) key: &'static str,
    /// The doc comment.
    pub(super) about: &'static str,
    /// The default as a variable would have it; empty: there is none, or it is computed.
    pub(super) default: &'static str,
    /// Name of the environment variable.
    pub(super) variable: Option<&'static str>,
    /// Set if a project's file must not have the key: the other way to set it.
    pub(super) user_only: Option<&'static str>,
    pub(super) slot: Slot<'a>,
}

impl<'a> Field<'a> {
    /// Declares a setting that any file may set, and no variable.
    pub(super) fn new(
        key: &'static str,
        about: &'static str,
        default: &'static str,
        slot: Slot<'a>,
    ) -> Field<'a> {
        Field {
            key,
            about,
            default,
            variable: None,
            user_only: None,
            slot,
        }
    }
}

/// Access to a value.
pub(super) struct Slot<'a> {
    /// Form of the value, or of each value of a list or map.
    pub(super) form: Form,
    pub(super) write: Write<'a>,
}

/// Form of a single value, for the JSON Schema.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Flag,
    Text,
    Path,
    /// Text that is never printed.
    Secret,
    Whole(RangeInclusive<u64>),
    /// One of these words.
    Word(&'static [&'static str]),
}

type SetText<'a> = Box<dyn FnMut(&str, &Origin<'_>) -> Result<(), String> + 'a>;
type SetEntry<'a> = Box<dyn FnMut(&str, &str) -> Result<(), String> + 'a>;
type SetList<'a> = Box<dyn FnMut(Vec<String>, &Origin<'_>) + 'a>;
type SetPermission<'a> = Box<dyn FnMut(Permission, &Origin<'_>) -> Result<(), String> + 'a>;
type Check<'a> = Box<dyn Fn(&str) -> Result<(), String> + 'a>;

/// Way in which a value is stored. Lists and maps of a higher layer are added to those of the
/// lower layers, unless the kind replaces them.
pub(super) enum Write<'a> {
    /// One value, from its text.
    Text(SetText<'a>),
    /// A list of texts.
    List {
        /// Character between the items of a variable.
        separator: char,
        /// Checks one item, so that an error in a file has its place.
        check: Check<'a>,
        set: SetList<'a>,
    },
    /// A map from names to single values.
    Map(SetEntry<'a>),
    /// A map from names to lists.
    Lists(&'a mut BTreeMap<String, Vec<String>>),
    Permission(SetPermission<'a>),
    /// Blocks with the same keys, by name or pattern.
    Blocks(Box<dyn Blocks + 'a>),
    /// A block with keys of its own.
    Block(Vec<Field<'a>>),
    /// A block of another program: what is wrong in it is a warning.
    Foreign(Vec<Field<'a>>),
}

/// Map from names or patterns to blocks with the same keys.
pub(super) trait Blocks {
    /// The word for a name in the reference.
    fn placeholder(&self) -> &'static str;

    /// Checks a name. The error is a fragment for people.
    fn check(&self, name: &str) -> Result<(), String>;

    /// Returns the settings of the block of that name, which is added if it is missing.
    fn entry(&mut self, name: &str) -> Vec<Field<'_>>;

    /// Returns the block and its setting that a text in the place of the map stands for.
    fn short_form(&self) -> Option<(&'static str, &'static str)>;
}

struct BlockMap<'a, S> {
    slot: &'a mut BTreeMap<String, S>,
    placeholder: &'static str,
    check: fn(&str) -> Result<(), String>,
    short_form: Option<(&'static str, &'static str)>,
}

impl<S: Settings> Blocks for BlockMap<'_, S> {
    fn placeholder(&self) -> &'static str {
        self.placeholder
    }

    fn check(&self, name: &str) -> Result<(), String> {
        (self.check)(name)
    }

    fn entry(&mut self, name: &str) -> Vec<Field<'_>> {
        let entry = self.slot.entry(name.to_owned());
        entry.or_insert_with(S::unset).fields()
    }

    fn short_form(&self) -> Option<(&'static str, &'static str)> {
        self.short_form
    }
}

/// Layer that a value comes from. Relative paths and permissions depend on it.
pub(super) struct Origin<'a> {
    /// The configuration file; `None` for variables and defaults.
    pub(super) file: Option<&'a Path>,
    /// Base of relative paths.
    pub(super) base: &'a Path,
    pub(super) home: &'a Path,
}

impl Origin<'_> {
    /// Returns the absolute path.
    fn resolve(&self, given: &str) -> PathBuf {
        let expanded = paths::expand(given, self.home).unwrap_or_else(|_| given.into());
        paths::resolve(self.base, &expanded)
    }

    /// Returns the source of a permission, with the file's path as a user would write it.
    fn permission_source(&self) -> PermissionSource {
        PermissionSource::File(paths::shown(self.file.unwrap_or(self.base), self.home))
    }
}

/// Returns the settings with their defaults.
pub(super) fn defaults<S: Settings>(origin: &Origin<'_>) -> S {
    let mut settings = S::unset();
    set_defaults(settings.fields(), origin);
    settings
}

fn set_defaults(fields: Vec<Field<'_>>, origin: &Origin<'_>) {
    for mut field in fields {
        match field.slot.write {
            Write::Block(fields) | Write::Foreign(fields) => set_defaults(fields, origin),
            // `unset` has the default profile.
            Write::Permission(_) => {}
            _ if field.default.is_empty() => {}
            _ => {
                let set = field.slot.set_text(field.default, origin);
                set.expect("every run of the program parses every default");
            }
        }
    }
}

/// Implements `Default` for blocks whose defaults do not depend on the user's directories.
macro_rules! default_settings {
    ($($Name:ident),*) => { $(
        impl Default for $Name {
            fn default() -> Self {
                let nowhere = std::path::Path::new("/");
                $crate::declare::defaults(&$crate::declare::Origin {
                    file: None,
                    base: nowhere,
                    home: nowhere,
                })
            }
        }
    )* };
}
pub(super) use default_settings;

impl<'a> Slot<'a> {
    fn of(write: Write<'a>) -> Slot<'a> {
        let form = Form::Text;
        Slot { form, write }
    }

    /// Sets the value from a text in which a separator divides the items of a list.
    pub(super) fn set_text(&mut self, text: &str, origin: &Origin<'_>) -> Result<(), String> {
        match &mut self.write {
            Write::Text(set) => set(text, origin),
            Write::List {
                separator,
                check,
                set,
            } => {
                let items = text.split(*separator).map(str::trim);
                let items: Vec<_> = items.filter(|item| !item.is_empty()).collect();
                items.iter().try_for_each(|item| check(item))?;
                set(items.into_iter().map(str::to_owned).collect(), origin);
                Ok(())
            }
            _ => Err("only a file can set it".to_owned()),
        }
    }
}

// ---- Kinds.

/// A single value.
pub(super) fn value<T: Value>(slot: &mut T) -> Slot<'_> {
    scalar(T::FORM, slot, T::parse)
}

/// A single value with a parser of its own.
pub(super) fn scalar<'a, T>(
    form: Form,
    slot: &'a mut T,
    parse: impl Fn(&str) -> Result<T, String> + 'a,
) -> Slot<'a> {
    placed(form, move |text, _| {
        *slot = parse(text)?;
        Ok(())
    })
}

/// A single value that depends on the layer.
pub(super) fn placed<'a>(
    form: Form,
    set: impl FnMut(&str, &Origin<'_>) -> Result<(), String> + 'a,
) -> Slot<'a> {
    let write = Write::Text(Box::new(set));
    Slot { form, write }
}

/// A flag that the setting turns off.
pub(super) fn negated(slot: &mut bool) -> Slot<'_> {
    scalar(Form::Flag, slot, |text| {
        yes_or_no(text).map(|is_off| !is_off)
    })
}

/// A whole number of the range, with its unit for messages.
pub(super) fn whole<T: TryFrom<u64> + Copy>(
    range: RangeInclusive<u64>,
    unit: &'static str,
) -> impl FnOnce(&mut T) -> Slot<'_> {
    move |slot| {
        let form = Form::Whole(range.clone());
        scalar(form, slot, move |text| whole_number(text, &range, unit))
    }
}

/// Parses a whole number of the range.
pub(super) fn whole_number<T: TryFrom<u64>>(
    text: &str,
    range: &RangeInclusive<u64>,
    unit: &str,
) -> Result<T, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|number| range.contains(number));
    if let Some(number) = number.and_then(|number| T::try_from(number).ok()) {
        return Ok(number);
    }
    let (start, end) = (*range.start(), *range.end());
    let is_open = end == u64::from(u32::MAX);
    Err(match start {
        0 if is_open => format!("`{text}` is not a whole number{unit}"),
        start if is_open => format!("`{text}` is not a whole number{unit} from {start} on"),
        start => format!("`{text}` is not a number{unit} from {start} to {end}"),
    })
}

/// A duration of at least one second.
pub(super) fn seconds(slot: &mut Duration) -> Slot<'_> {
    scalar(Form::Text, slot, |text| match parse_duration(text)? {
        time if time < Duration::from_secs(1) => Err(format!("`{text}` is less than a second")),
        time => Ok(time),
    })
}

/// A duration above zero: a limit of zero would end everything at once.
pub(super) fn timeout(slot: &mut Duration) -> Slot<'_> {
    scalar(Form::Text, slot, parse_timeout)
}

/// Parses a duration above zero.
pub(super) fn parse_timeout(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        time if time.is_zero() => Err("it must be more than nothing".to_owned()),
        time => Ok(time),
    }
}

/// A path that becomes absolute.
pub(super) fn path(slot: &mut PathBuf) -> Slot<'_> {
    placed(Form::Path, |text, origin| {
        *slot = origin.resolve(text);
        Ok(())
    })
}

/// The path of the state directory.
pub(super) fn state_directory(slot: &mut StateDir) -> Slot<'_> {
    placed(Form::Path, |text, origin| {
        *slot = StateDir::new(origin.resolve(text));
        Ok(())
    })
}

/// A path that may be missing.
pub(super) fn optional_path(slot: &mut Option<PathBuf>) -> Slot<'_> {
    placed(Form::Path, |text, origin| {
        *slot = Some(origin.resolve(text));
        Ok(())
    })
}

/// A list whose items of a higher layer come before those of a lower one.
pub(super) fn joined<T: Value>(slot: &mut Vec<T>) -> Slot<'_> {
    let write = Write::List {
        separator: ',',
        check: Box::new(|item| T::parse(item).map(drop)),
        set: Box::new(|items, _| {
            slot.splice(0..0, items.iter().filter_map(|item| T::parse(item).ok()));
        }),
    };
    let form = T::FORM;
    Slot { form, write }
}

/// A list of parsed values that replaces the one of a lower layer.
pub(super) fn replaced_values<T: Value>(slot: &mut Vec<T>) -> Slot<'_> {
    let write = Write::List {
        separator: ',',
        check: Box::new(|item| T::parse(item).map(drop)),
        set: Box::new(|items, _| {
            *slot = items
                .iter()
                .filter_map(|item| T::parse(item).ok())
                .collect();
        }),
    };
    let form = T::FORM;
    Slot { form, write }
}

/// A list that replaces the one of a lower layer.
pub(super) fn replaced(separator: char) -> impl FnOnce(&mut Vec<String>) -> Slot<'_> {
    move |slot| list(Form::Text, separator, move |items, _| *slot = items)
}

/// Paths as written. Relative ones of a file start at its folder, the others at the project.
/// A path that cannot be expanded stays as it is: discovery reports it.
pub(super) fn tool_paths(slot: &mut Vec<String>) -> Slot<'_> {
    list(Form::Path, ':', move |items, origin| {
        let anchored = |given: String| match paths::expand(&given, origin.home) {
            Ok(path) if origin.file.is_some() && path.is_relative() && !given.is_empty() => {
                let anchored = paths::resolve(origin.base, &path);
                anchored.into_os_string().into_string().unwrap_or(given)
            }
            _ => given,
        };
        slot.splice(0..0, items.into_iter().map(anchored));
    })
}

/// Paths of directories, which become absolute.
pub(super) fn directories(slot: &mut Vec<PathBuf>) -> Slot<'_> {
    list(Form::Path, ':', move |items, origin| {
        slot.splice(0..0, items.iter().map(|given| origin.resolve(given)));
    })
}

fn list<'a>(
    form: Form,
    separator: char,
    set: impl FnMut(Vec<String>, &Origin<'_>) + 'a,
) -> Slot<'a> {
    let write = Write::List {
        separator,
        check: Box::new(|_| Ok(())),
        set: Box::new(set),
    };
    Slot { form, write }
}

/// A map from names to values.
pub(super) fn map<T: Value>(slot: &mut BTreeMap<String, T>) -> Slot<'_> {
    checked_map(|_| Ok(()))(slot)
}

/// A map from names to texts that are never printed.
pub(super) fn secrets(slot: &mut BTreeMap<String, String>) -> Slot<'_> {
    let form = Form::Secret;
    Slot { form, ..map(slot) }
}

/// A map from names to values whose names are checked.
pub(super) fn checked_map<T: Value>(
    check: fn(&str) -> Result<(), String>,
) -> impl FnOnce(&mut BTreeMap<String, T>) -> Slot<'_> {
    move |slot| {
        let write = Write::Map(Box::new(move |key, text| {
            check(key)?;
            slot.insert(key.to_owned(), T::parse(text)?);
            Ok(())
        }));
        let form = T::FORM;
        Slot { form, write }
    }
}

pub(super) fn lists(slot: &mut BTreeMap<String, Vec<String>>) -> Slot<'_> {
    Slot::of(Write::Lists(slot))
}

/// Blocks with the same keys by name or pattern. The reference shows a name as `placeholder`.
pub(super) fn blocks<S: Settings>(
    placeholder: &'static str,
    check: fn(&str) -> Result<(), String>,
) -> impl FnOnce(&mut BTreeMap<String, S>) -> Slot<'_> {
    move |slot| block_map(slot, placeholder, check, None)
}

/// Blocks, or a text that stands for one setting of one block.
pub(super) fn blocks_or_text<S: Settings>(
    placeholder: &'static str,
    check: fn(&str) -> Result<(), String>,
    short_form: (&'static str, &'static str),
) -> impl FnOnce(&mut BTreeMap<String, S>) -> Slot<'_> {
    move |slot| block_map(slot, placeholder, check, Some(short_form))
}

fn block_map<'a, S: Settings>(
    slot: &'a mut BTreeMap<String, S>,
    placeholder: &'static str,
    check: fn(&str) -> Result<(), String>,
    short_form: Option<(&'static str, &'static str)>,
) -> Slot<'a> {
    Slot::of(Write::Blocks(Box::new(BlockMap {
        slot,
        placeholder,
        check,
        short_form,
    })))
}

pub(super) fn block<S: Settings>(slot: &mut S) -> Slot<'_> {
    Slot::of(Write::Block(slot.fields()))
}

pub(super) fn foreign<S: Settings>(slot: &mut S) -> Slot<'_> {
    Slot::of(Write::Foreign(slot.fields()))
}

/// A permission of that kind, which `set` stores with its source.
pub(super) fn permission<'a>(
    kind: PermissionKind,
    mut set: impl FnMut(Permission, PermissionSource) + 'a,
) -> Slot<'a> {
    Slot::of(Write::Permission(Box::new(move |granted, origin| {
        granted.check(kind)?;
        set(granted, origin.permission_source());
        Ok(())
    })))
}

pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

// ---- Types of values.

/// Implements [`Value`] with the form and the parser of each type.
macro_rules! values {
    ($($T:ty: $form:expr, $parse:expr;)*) => { $(
        impl $crate::declare::Value for $T {
            const FORM: $crate::declare::Form = $form;

            fn parse(text: &str) -> Result<Self, String> {
                $parse(text)
            }
        }
    )* };
}
pub(super) use values;

values! {
    bool: Form::Flag, yes_or_no;
    String: Form::Text, |text: &str| Ok(text.to_owned());
    Duration: Form::Text, parse_duration;
    ApprovalMode: Form::Word(&["always-ask", "write", "yolo"]), |text| {
        ApprovalMode::from_name(text).ok_or_else(|| {
            let names = ApprovalMode::NAMES.map(|(name, _)| name).join(", ");
            format!("`{text}` is not an approval mode: {names}")
        })
    };
    Rule: Form::Word(&["allow", "deny", "prompt"]), |text| {
        let rule = Rule::from_name(text);
        rule.ok_or_else(|| format!("`{text}` is neither allow nor deny nor prompt"))
    };
    Tier: Form::Word(&["read", "write", "exec"]), |text: &str| {
        text.parse().map_err(|_| format!("`{text}` is neither read nor write nor exec"))
    };
    ToolPattern: Form::Text, ToolPattern::parse;
    Isolation: Form::Word(&["process", "sandbox"]), Isolation::parse;
}

impl<T: Value> Value for Option<T> {
    const FORM: Form = T::FORM;

    fn parse(text: &str) -> Result<Option<T>, String> {
        T::parse(text).map(Some)
    }
}
