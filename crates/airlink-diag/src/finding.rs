//! The finding itself and the list that phases fill.

use crate::{Code, Sources, Span};

/// How much a finding matters. Errors: what cannot compile, load or mean anything. Warnings: what compiles and is
/// suspicious or silently wrong on the device. Notes: what airlink did for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Note,
    Warning,
    Error,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A span with what is to be said there; the empty text is allowed on the primary label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub text: String,
    pub primary: bool,
}

/// One thing to say: see the crate's page for what each part is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a finding does nothing until it is pushed"]
pub struct Finding {
    pub code: Code,
    pub severity: Severity,
    pub headline: String,
    /// The first primary label leads; all are shown.
    pub labels: Vec<Label>,
    /// The number or thing found, with its unit: `8192 elements`.
    pub found: Option<String>,
    /// The number or thing allowed, with its unit.
    pub allowed: Option<String>,
    /// Where the limit comes from.
    pub source: Option<String>,
    /// One edit that mends it.
    pub remedy: Option<String>,
}

impl Finding {
    pub fn new(severity: Severity, code: Code, headline: impl Into<String>) -> Finding {
        Finding {
            code,
            severity,
            headline: headline.into(),
            labels: Vec::new(),
            found: None,
            allowed: None,
            source: None,
            remedy: None,
        }
    }

    pub fn error(code: Code, headline: impl Into<String>) -> Finding {
        Finding::new(Severity::Error, code, headline)
    }

    pub fn warning(code: Code, headline: impl Into<String>) -> Finding {
        Finding::new(Severity::Warning, code, headline)
    }

    pub fn note(code: Code, headline: impl Into<String>) -> Finding {
        Finding::new(Severity::Note, code, headline)
    }

    /// The primary place.
    pub fn at(self, span: Span, text: impl Into<String>) -> Finding {
        self.label(span, text, true)
    }

    /// Another place that is involved.
    pub fn also(self, span: Span, text: impl Into<String>) -> Finding {
        self.label(span, text, false)
    }

    /// [`Finding::at`] where the place is known.
    pub fn maybe_at(self, span: Option<Span>, text: impl Into<String>) -> Finding {
        match span {
            Some(span) => self.at(span, text),
            None => self,
        }
    }

    /// [`Finding::also`] where the place is known.
    pub fn maybe_also(self, span: Option<Span>, text: impl Into<String>) -> Finding {
        match span {
            Some(span) => self.also(span, text),
            None => self,
        }
    }

    fn label(mut self, span: Span, text: impl Into<String>, primary: bool) -> Finding {
        self.labels.push(Label { span, text: text.into(), primary });
        self
    }

    pub fn found(mut self, found: impl Into<String>) -> Finding {
        self.found = Some(found.into());
        self
    }

    pub fn allowed(mut self, allowed: impl Into<String>) -> Finding {
        self.allowed = Some(allowed.into());
        self
    }

    pub fn source(mut self, source: impl Into<String>) -> Finding {
        self.source = Some(source.into());
        self
    }

    pub fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }

    /// The span that leads: the first primary one, else the first.
    pub fn primary_span(&self) -> Option<Span> {
        self.labels.iter().find(|l| l.primary).or(self.labels.first()).map(|l| l.span)
    }
}

/// Evidence that an error was pushed; only [`Findings`] makes it, so a phase cannot fail silently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported(());

/// What was found so far, and the files that it points into.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub sources: Sources,
    list: Vec<Finding>,
}

impl Findings {
    /// Adds a finding. An equal one that is already there is not added again: a kernel that two launches share says
    /// its piece once.
    pub fn push(&mut self, finding: Finding) {
        if !self.list.contains(&finding) {
            self.list.push(finding);
        }
    }

    /// Adds a finding of error level and gives the evidence.
    pub fn fail(&mut self, finding: Finding) -> Reported {
        debug_assert_eq!(finding.severity, Severity::Error);
        self.push(finding);
        Reported(())
    }

    /// Evidence of the errors so far, if there are any.
    pub fn check(&self) -> Result<(), Reported> {
        if self.has_errors() { Err(Reported(())) } else { Ok(()) }
    }

    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|f| f.severity == Severity::Error)
    }

    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|f| f.severity == severity).count()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter()
    }

    /// The findings in file order: by the file of the primary span, then by place; those without a place come last,
    /// and otherwise the order in which they were pushed is kept.
    pub fn in_file_order(&self) -> Vec<&Finding> {
        let mut list: Vec<&Finding> = self.list.iter().collect();
        list.sort_by_key(|f| f.primary_span().map_or((true, None, 0), |s| (false, Some(s.file), s.start)));
        list
    }

    /// Raises warnings to errors, as `-Werror` asks.
    pub fn deny_warnings(&mut self) {
        for f in &mut self.list {
            if f.severity == Severity::Warning {
                f.severity = Severity::Error;
            }
        }
    }
}
