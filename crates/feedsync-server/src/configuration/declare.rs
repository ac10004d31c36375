//! Declaration of settings: a struct, its defaults and its rows of the reference in one macro.

/// Declares a part of the configuration; each field is `name: type as kind = default;`.
macro_rules! settings {
    (
        $(#[$outer:meta])*
        pub struct $part:ident at $section:tt {
            $( $(#[doc = $doc:literal])+ $field:ident: $type:ty as $kind:ty = $default:expr; )*
        } $( with { $( $(#[$inner:meta])* $inside:ident: $inside_type:ty, )* } )?
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone)]
        pub struct $part {
            $( $(#[doc = $doc])+ pub $field: $type, )*
            $($( $(#[$inner])* pub $inside: $inside_type, )*)?
        }

        impl Default for $part {
            fn default() -> Self {
                Self {
                    $( $field: $default, )*
                    $($( $inside: Default::default(), )*)?
                }
            }
        }

        impl $part {
            /// Its settings, in order.
            pub(crate) fn settings() -> Vec<$crate::configuration::Setting> {
                use $crate::configuration::kinds::Kind;
                vec![$(
                    $crate::configuration::Setting {
                        name: $crate::configuration::declare::name!($section $field),
                        doc: [$($doc),+].map(str::trim).join(" "),
                        form: <$kind as Kind<$type>>::FORM,
                        read: |config, given| {
                            $crate::configuration::declare::place!(config $section $field) =
                                <$kind as Kind<$type>>::read(given)?;
                            Ok(())
                        },
                        show: |config| {
                            let value = &$crate::configuration::declare::place!(config $section $field);
                            <$kind as Kind<$type>>::show(value)
                        },
                    },
                )*]
            }
        }
    };
}

macro_rules! name {
    ([] $field:ident) => {
        stringify!($field)
    };
    ([$section:ident] $field:ident) => {
        concat!(stringify!($section), ".", stringify!($field))
    };
}

macro_rules! place {
    ($config:ident [] $field:ident) => {
        $config.$field
    };
    ($config:ident [$section:ident] $field:ident) => {
        $config.$section.$field
    };
}

pub(crate) use name;
pub(crate) use place;
pub(crate) use settings;
