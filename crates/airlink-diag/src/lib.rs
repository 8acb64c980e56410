//! Findings: code, severity, headline, spans, numbers, remedy; and the page of each code.
