// Package explore shows the language's fields, what a query asks of a provider, and how it judges given facts.
package explore
