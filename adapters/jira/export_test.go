package jira

// NoteJQL collects a text for make jql-check.
func NoteJQL(text string) { noteJQL(text) }
