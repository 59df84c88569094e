package query

import "fmt"

// String is "true", "false" or "unknown".
func (v Verdict) String() string {
	switch v {
	case True:
		return "true"
	case False:
		return "false"
	default:
		return "unknown"
	}
}

// MarshalText writes what String says.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(text []byte) error {
	switch string(text) {
	case "true":
		*v = True
	case "false":
		*v = False
	case "unknown":
		*v = VerdictUnknown
	default:
		return fmt.Errorf("verdict %q: want true, false or unknown", text)
	}
	return nil
}

// Not is Kleene's negation.
func (v Verdict) Not() Verdict { return -v }

// And is Kleene's conjunction: the lesser of the two, False being least.
func (v Verdict) And(w Verdict) Verdict { return min(v, w) }

// Or is Kleene's disjunction: the greater of the two.
func (v Verdict) Or(w Verdict) Verdict { return max(v, w) }

func verdictOf(holds bool) Verdict {
	if holds {
		return True
	}
	return False
}

// String is "undecided", "admitted" or "excluded".
func (s Standing) String() string {
	switch s {
	case Admitted:
		return "admitted"
	case Excluded:
		return "excluded"
	default:
		return "undecided"
	}
}

// String is "unknown", "partial" or "known".
func (p Presence) String() string {
	switch p {
	case Known:
		return "known"
	case Partial:
		return "partial"
	default:
		return "unknown"
	}
}
