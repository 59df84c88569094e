package query

// weight guesses how many of a thousand entities satisfy a leaf. It decides which necessary leaf anchors a query and
// which leaf a search gives up first, never what is true: a wrong guess costs time.
func weight(l *Leaf) int {
	w := baseWeight(l.Field, l.Member)
	switch {
	case l.AnyElement():
		w = 500
	case l.Op == OpEmpty:
		w = 500
	case l.Op == OpIn:
		w = min(w*max(1, len(l.Values)), 950)
	}
	if !l.Positive {
		w = 1000 - w
	}
	return w
}

func baseWeight(field, member FieldID) int {
	switch member {
	case MAt:
		return 400
	case MBy, MState, MMerged, MOnHead:
		return 100
	case MCommand, MText:
		return 10
	}
	switch field {
	case FState, FLocked, FMerged:
		return 700
	case FDraft, FIsFork, FAuthorKind, FBase:
		return 600
	case FStatusCategory, FType, FChecks:
		return 350
	case FCreated, FUpdated, FClosed, FLastComment:
		return 300
	case FPriority, FStatus:
		return 200
	case FDue:
		return 100
	case FMilestone, FComponent, FFixVersion:
		return 50
	case FParent, FHead:
		return 10
	}
	return 20 // labels, users, custom fields
}
