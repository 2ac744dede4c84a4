//! The macros that declare parameters.

/// Declares the parameters of a policy: a struct that implements [`Parameters`](crate::parameters::Parameters).
///
/// A field is written as `/// about` and `pub name: type = default, RANGE, unit "unit";`. The catalogue shows the
/// field's documentation as the parameter's meaning. `unit` is optional. `RANGE` depends on the type:
///
/// | type | `RANGE` | valid values |
/// | --- | --- | --- |
/// | `f64` | `in 0.0..=1.0`, `in 0.0..1.0` or `in 0.0..` | numbers in the range |
/// | `u32` | `in 1..=64` | whole numbers in the range |
/// | `bool` | left out | `true` and `false` |
/// | `Option<f64>` | `word none, in 0.0..=1.0` | the word, which means `None`, and numbers in the range |
/// | `Option<f64>` | `word optimal` | the word, which means `None`, and positive numbers |
/// | an enum with [`words!`](crate::words!) | left out | its words |
///
/// [The module](mod@crate::parameters) has an example.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        pub struct $parameters:ident {
            $(
                $(#[doc = $about:literal])+
                pub $name:ident: $type:ident $(<$of:ident>)? = $default:expr
                    $(, word $word:ident)?
                    $(, in $low:literal $(..= $high:literal)? $(.. $($below:literal)?)?)?
                    $(, unit $unit:literal)?;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $parameters {
            $($(#[doc = $about])+ pub $name: $type $(<$of>)?,)*
        }

        impl ::std::default::Default for $parameters {
            fn default() -> $parameters {
                $parameters { $($name: $default,)* }
            }
        }

        impl $crate::parameters::Parameters for $parameters {
            const ENTRIES: &'static [$crate::parameters::ParameterEntry] = &[
                $($crate::parameters::ParameterEntry {
                    name: stringify!($name),
                    default: $crate::parameters!(@default $type $(<$of>)?, $default $(, $word)?),
                    about: concat!($($about),+).trim_ascii(),
                    unit: $crate::parameters!(@unit $($unit)?),
                    valid: $crate::parameters!(
                        @valid $type $(<$of> $word)? $(in $low $(..= $high)? $(.. $($below)?)?)?
                    ),
                },)*
            ];

            fn read(
                given: &$crate::parameters::Given,
            ) -> ::std::result::Result<$parameters, $crate::parameters::BadValue> {
                let default = $parameters::default();
                ::std::result::Result::Ok($parameters {
                    $($name: $crate::parameters::read_field(
                        given, Self::ENTRIES, stringify!($name), default.$name,
                    )?,)*
                })
            }

            fn given(&self) -> $crate::parameters::Given {
                let default = $parameters::default();
                let mut given = $crate::parameters::Given::new();
                $($crate::parameters::write_field(
                    &mut given, Self::ENTRIES, stringify!($name), self.$name, default.$name,
                );)*
                given
            }
        }
    };
    // The default as a [`Value`](crate::parameters::Value).
    (@default f64, $default:expr) => { $crate::parameters::Value::Number($default) };
    (@default u32, $default:expr) => { $crate::parameters::Value::Number($default as f64) };
    (@default bool, $default:expr) => { $crate::parameters::Value::Switch($default) };
    (@default Option<f64>, $default:expr, $word:ident) => {{
        let default: ::std::option::Option<f64> = $default;
        match default {
            ::std::option::Option::Some(number) => $crate::parameters::Value::Number(number),
            ::std::option::Option::None => $crate::parameters::Value::Word(::std::borrow::Cow::Borrowed(stringify!($word))),
        }
    }};
    (@default $words:ident, $default:expr) => {
        $crate::parameters::Value::Word(::std::borrow::Cow::Borrowed(
            <$words as $crate::parameters::Words>::WORDS[$default as usize],
        ))
    };

    (@unit) => { ::std::option::Option::None };
    (@unit $unit:literal) => { ::std::option::Option::Some($unit) };

    (@valid f64 in $low:literal ..= $high:literal) => { $crate::parameters::Valid::Number($low, $high) };
    (@valid f64 in $low:literal .. $high:literal) => { $crate::parameters::Valid::NumberBelow($low, $high) };
    (@valid f64 in $low:literal ..) => { $crate::parameters::Valid::Number($low, f64::MAX) };
    (@valid u32 in $low:literal ..= $high:literal) => { $crate::parameters::Valid::Count($low, $high) };
    (@valid bool) => { $crate::parameters::Valid::Switch };
    (@valid Option<f64> optimal) => { $crate::parameters::Valid::OptimalOrNumber };
    (@valid Option<f64> $word:ident in $low:literal ..= $high:literal) => {
        $crate::parameters::Valid::WordOrNumber(stringify!($word), $low, $high)
    };
    (@valid Option<f64> $word:ident in $low:literal ..) => {
        $crate::parameters::Valid::WordOrNumber(stringify!($word), $low, f64::MAX)
    };
    (@valid $words:ident) => {
        $crate::parameters::Valid::OneOf(<$words as $crate::parameters::Words>::WORDS)
    };
}

/// Defines the word for each variant of an enum: `words!(Remaining: Work = "work", Time = "time");`. Names of policies
/// and scenario files use these words. The list must contain all variants in the order of their declaration.
///
/// ```compile_fail
/// #[derive(Clone, Copy, PartialEq)]
/// enum Remaining {
///     Work,
///     Time,
/// }
/// hindmost_policies::words!(Remaining: Work = "work"); // Time has no word
/// ```
#[macro_export]
macro_rules! words {
    ($words:ident: $($variant:ident = $word:literal),+) => {
        impl $crate::parameters::Words for $words {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const ALL: &'static [$words] = &[$($words::$variant),+];

            fn word(self) -> &'static str {
                match self {
                    $($words::$variant => $word,)+
                }
            }
        }
    };
}
