package github

import "github.com/fullsend-ai/discovery/query"

// entity is a row of either kind as the rest of the package sees it.
type entity struct {
	*row
	kind  query.Kind
	pull  *pullRow
	typed *typedRow
	extra *issueExtra  // of reads
	more  *pullDetails // of reads
}

// details are the parts that a read added, of either kind; nil in listings.
func (e *entity) details() *details {
	switch {
	case e.extra != nil:
		return &e.extra.details
	case e.more != nil:
		return &e.more.details
	}
	return nil
}

// whole reports whether a row is one at all.
func (e *entity) whole() bool {
	return e.ID != "" && e.DatabaseID != "" && e.Number > 0 && !e.CreatedAt.IsZero() && !e.UpdatedAt.IsZero()
}

func (r *row) entity() *entity      { return &entity{row: r, kind: query.WorkItem} }
func (r *issueRow) entity() *entity { return r.row.entity() }
func (r *typedRow) entity() *entity { return &entity{row: &r.row, kind: query.WorkItem, typed: r} }
func (r *pullRow) entity() *entity {
	return &entity{row: &r.row, kind: query.ChangeProposal, pull: r}
}
func (n *number) entity() *entity { return &entity{row: &row{Number: n.Number}} }

func (r *issueRead) entity() *entity {
	e := r.issueRow.entity()
	e.extra = &r.issueExtra
	return e
}

func (r *typedRead) entity() *entity {
	e := r.typedRow.entity()
	e.extra = &r.issueExtra
	return e
}

func (r *pullRead) entity() *entity {
	e := r.pullRow.entity()
	e.more = &r.pullDetails
	return e
}

// rowOf is the pointer to a row's shape.
type rowOf[R any] interface {
	*R
	entity() *entity
}

func rowsOf[R any, P rowOf[R]](c *connection[R]) rows {
	out := rows{total: c.TotalCount, page: c.PageInfo}
	if c.Nodes == nil {
		return out
	}
	out.nodes = make([]*entity, len(c.Nodes))
	for i, n := range c.Nodes {
		if n != nil {
			out.nodes[i] = P(n).entity()
		}
	}
	return out
}
