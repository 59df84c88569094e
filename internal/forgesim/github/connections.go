package github

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// entities is repository.issues or repository.pullRequests.
func (x *execution) entities(r sim.Repo, kind sim.Kind, a args) any {
	size := a.number("first")
	if size < 1 || size > 100 {
		return absence{"EXCESSIVE_PAGINATION", fmt.Sprintf("Requesting %d records on the connection exceeds the `first` limit of 100 records.", size)}
	}
	reader := x.list()
	where := sim.Where{Kind: kind}
	if filter, ok := a["filterBy"].(map[string]any); ok && kind == sim.WorkItem {
		for k, v := range filter {
			if v == nil && x.quirks.NullFilterIsStale {
				reader = x.w.Reader(x.moves, 72*time.Hour)
			}
			if k != "since" && v != nil {
				return noValue{}
			}
		}
		if s, ok := filter["since"].(string); ok {
			since, err := time.Parse(time.RFC3339, s)
			if err != nil {
				return absence{"UNPROCESSABLE", "since is no DateTime"}
			}
			where.Since = max(since.Unix(), 1)
		}
	}
	order, _ := a["orderBy"].(map[string]any)
	field, _ := order["field"].(string)
	down := order["direction"] == "DESC"
	key := func(row sim.Row) int64 {
		if field == "UPDATED_AT" {
			return row.Updated().Unix()
		}
		return row.Created().Unix()
	}
	states := a.texts("states")
	fits := func(row sim.Row) bool {
		return !slices.Contains(x.quirks.Omitted, row.Number()) && !slices.Contains(x.quirks.Flagged, row.Number()) &&
			(len(states) == 0 || slices.Contains(states, rowState(row)))
	}
	after := func(sim.Row) bool { return true }
	if c := a.text("after"); c != "" {
		second, id, ok := parseCursor(c)
		at, err := strconv.ParseInt(second, 10, 64)
		if !ok || err != nil {
			return absence{"INVALID_CURSOR_ARGUMENTS", fmt.Sprintf("`%s` does not appear to be a valid cursor.", c)}
		}
		after = func(row sim.Row) bool {
			d := cmp.Or(cmp.Compare(key(row), at), cmp.Compare(row.ID(), id))
			return d > 0 && !down || d < 0 && down
		}
	}
	by := func(a, b sim.Row) int {
		d := cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.ID(), b.ID()))
		if down {
			return -d
		}
		return d
	}
	if x.quirks.Unordered {
		by = func(a, b sim.Row) int { return cmp.Compare(a.ID()*7919%101, b.ID()*7919%101) }
	}
	es, left := reader.Select(r.ID, where, func(row sim.Row) bool { return fits(row) && after(row) }, by, 0, int(size))
	rows := make([]any, len(es))
	for i, e := range es {
		rows[i] = any(x.entity(e))
		if slices.Contains(x.quirks.NullNodes, e.Number) {
			rows[i] = x.nullNode()
		}
	}
	if x.heavy {
		rows = x.crush(rows)
	}
	end := ""
	if n := len(es); n > 0 {
		at := es[n-1].Created
		if field == "UPDATED_AT" {
			at = es[n-1].Updated
		}
		end = cursorOf(strconv.FormatInt(at.Unix(), 10), es[n-1].ID)
	}
	typ := "IssueConnection"
	if kind == sim.ChangeProposal {
		typ = "PullRequestConnection"
	}
	return &object{typ, func(name string, _ args) any {
		switch name {
		case "totalCount":
			_, n := reader.Select(r.ID, where, fits, nil, 0, 0)
			return n
		case "pageInfo":
			return pageInfo(left > len(es), false, "", end)
		case "nodes":
			return rows
		}
		return noValue{}
	}}
}

func rowState(row sim.Row) string {
	switch {
	case row.Merged():
		return "MERGED"
	case row.Closed():
		return "CLOSED"
	}
	return "OPEN"
}

func pageInfo(next, previous bool, start, end string) *object {
	return &object{"PageInfo", func(name string, _ args) any {
		switch name {
		case "hasNextPage":
			return next
		case "hasPreviousPage":
			return previous
		case "startCursor":
			return textOrNull(start)
		case "endCursor":
			return textOrNull(end)
		}
		return noValue{}
	}}
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// connection is a page of a collection of one entity: first from after on, or last before before.
func (x *execution) connection(typ string, a args, all []any) any {
	first, last := a.number("first"), a.number("last")
	if first+last < 1 || first > 100 || last > 100 {
		return absence{"MISSING_PAGINATION_BOUNDARIES", fmt.Sprintf("You must provide a `first` or `last` value to properly paginate the `%s` connection.", typ)}
	}
	from, to := 0, len(all)
	if c := a.text("after"); c != "" {
		from = min(place(c)+1, len(all))
	}
	if c := a.text("before"); c != "" {
		to = max(min(place(c), len(all)), from)
	}
	if first > 0 {
		to = min(to, from+int(first))
	} else {
		from = max(from, to-int(last))
	}
	rows := slices.Clone(all[from:to])
	if rows == nil {
		rows = []any{}
	}
	start, end := "", ""
	if to > from {
		start, end = cursorOf("n", int64(from)), cursorOf("n", int64(to-1))
	}
	return &object{typ, func(name string, _ args) any {
		switch name {
		case "totalCount":
			return len(all)
		case "pageInfo":
			return pageInfo(to < len(all), from > 0, start, end)
		case "nodes":
			return rows
		}
		return noValue{}
	}}
}

func place(cursor string) int {
	_, n, ok := parseCursor(cursor)
	if !ok {
		return -1
	}
	return int(n)
}
