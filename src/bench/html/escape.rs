//! Text that agents wrote, as HTML that says it and does nothing.

use std::borrow::Cow;

/// Text for an element's content or an attribute's value. Control characters, and those that change the direction of a line, are made visible.
pub(super) fn text(raw: &str) -> Cow<'_, str> {
    if !raw.contains(|c: char| special(c).is_some()) {
        return raw.into();
    }
    let mut out = String::with_capacity(raw.len() + raw.len() / 8);
    for c in raw.chars() {
        match special(c) {
            None => out.push(c),
            Some(Some(entity)) => out.push_str(entity),
            Some(None) => out.push_str(&format!("<mark>U+{:04X}</mark>", u32::from(c))),
        }
    }
    out.into()
}

/// Text for an attribute's value, where no element can stand.
pub(super) fn attribute(raw: &str) -> String {
    text(raw).replace("<mark>", "").replace("</mark>", "")
}

/// What stands for a character; `Some(None)` for one that is only named.
fn special(c: char) -> Option<Option<&'static str>> {
    match c {
        '&' => Some(Some("&amp;")),
        '<' => Some(Some("&lt;")),
        '>' => Some(Some("&gt;")),
        '"' => Some(Some("&quot;")),
        '\'' => Some(Some("&#39;")),
        '\r' => Some(Some("")),
        '\n' | '\t' => None,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => Some(None),
        c if c.is_control() => Some(None),
        _ => None,
    }
}

/// The beginning of a text, with a word on how much was left out.
pub(super) fn cut(raw: &str, most: usize) -> Cow<'_, str> {
    if raw.len() <= most {
        return raw.into();
    }
    let end = (0..=most).rev().find(|i| raw.is_char_boundary(*i)).unwrap_or(0);
    format!("{}\n[{} more bytes are left out here]", &raw[..end], raw.len() - end).into()
}

#[cfg(test)]
mod unit {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_an_agent_writes_is_text_and_shows_what_would_be_hidden() {
        assert_eq!(text("</script><img src=x>"), "&lt;/script&gt;&lt;img src=x&gt;");
        assert_eq!(text("a\u{202e}b\u{1b}[1m\r\n"), "a<mark>U+202E</mark>b<mark>U+001B</mark>[1m\n");
        assert_eq!(attribute("\" onload='\u{0}'"), "&quot; onload=&#39;U+0000&#39;");
    }

    #[test]
    fn a_long_text_says_what_is_left_out() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("äääää", 5), "ää\n[6 more bytes are left out here]");
    }

    proptest! {
        #[test]
        fn no_text_leaves_its_place(raw in ".*") {
            let shown = text(&raw).replace("<mark>", "").replace("</mark>", "");
            prop_assert!(!shown.contains(['<', '>', '"', '\'']));
            prop_assert!(!attribute(&raw).contains(['<', '>', '"', '\'']));
        }
    }
}
