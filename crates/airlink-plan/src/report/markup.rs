//! Markup that is well-formed by construction: tags close, and every text is escaped, so that a page is at once HTML and
//! XML.

/// A document that grows. Names of tags and attributes are literals; all else goes through [`escape`].
#[derive(Default)]
pub(crate) struct Markup {
    out: String,
}

/// An attribute: its name and its text.
pub(crate) type Attribute<'a> = (&'static str, &'a str);

impl Markup {
    /// An empty HTML document.
    pub fn html() -> Markup {
        Markup { out: "<!DOCTYPE html>\n".to_string() }
    }

    pub fn finish(self) -> String {
        self.out
    }

    /// An element around what `content` adds.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        content: impl FnOnce(&mut Markup),
    ) -> &mut Markup {
        self.open(name, attributes);
        self.out.push('>');
        content(self);
        self.close(name);
        self.out.push('\n');
        self
    }

    /// An element that holds a text.
    pub fn leaf(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: &str) -> &mut Markup {
        self.open(name, attributes);
        self.out.push('>');
        self.text(text);
        self.close(name);
        self
    }

    /// An element that never holds anything: `meta`, or one of SVG.
    pub fn void(&mut self, name: &'static str, attributes: &[Attribute<'_>]) -> &mut Markup {
        self.open(name, attributes);
        self.out.push_str("/>");
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Markup {
        escape(text, &mut self.out);
        self
    }

    /// A text in which names stand in backticks: these become code.
    pub fn prose(&mut self, text: &str) -> &mut Markup {
        let mut rest = text;
        while let Some((before, name, after)) =
            rest.split_once('`').and_then(|(before, r)| r.split_once('`').map(|(name, after)| (before, name, after)))
        {
            self.text(before).leaf("code", &[], name);
            rest = after;
        }
        self.text(rest)
    }

    /// The style sheet, which holds nothing that needs escaping.
    pub fn style(&mut self, css: &'static str) -> &mut Markup {
        self.out.push_str("<style>\n");
        self.out.push_str(css);
        self.out.push_str("</style>\n");
        self
    }

    fn open(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, text) in attributes {
            self.out.push(' ');
            self.out.push_str(attribute);
            self.out.push_str("=\"");
            escape(text, &mut self.out);
            self.out.push('"');
        }
    }

    fn close(&mut self, name: &'static str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }
}

/// `text` for a place between tags or in an attribute. What XML has no character for becomes U+FFFD.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(c),
            '\0'..='\x1f' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
}
