package query

import (
	"fmt"
	"slices"
	"strings"
)

// foldASCII lowers A–Z and nothing else.
func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// lookup finds a field of the entity, or reports why there is none.
func (b *binder) lookup(n name) *Field {
	shown := n.String()
	f, ok := b.cat.Field(shown)
	switch {
	case ok && slices.Contains(f.Kinds, b.kind):
		return f
	case ok:
		b.lacksKind(n, f)
	default:
		b.unknownField(n)
	}
	return nil
}

func (b *binder) lacksKind(n name, f *Field) {
	b.add(codeKindLacks, n.at, fmt.Sprintf("%s is a field of %s, and this source is about %s", n, kindNames(f.Kinds), kindName(b.kind)), "remove the condition, or set the source's kind")
}

func (b *binder) unknownField(n name) {
	if f := fieldOfV1(n); f != nil {
		if !slices.Contains(f.Providers, b.cat.provider) {
			suggest := fmt.Sprintf("it exists on %s", list(f.Providers, "and"))
			if f.ID == FStatus || f.ID == FStatusCategory {
				suggest += "; write state for open and closed"
			}
			b.add(codeProviderLacks, n.at, fmt.Sprintf("%s has no field %s", b.cat.provider, n), suggest)
			return
		}
		if !slices.Contains(f.Kinds, b.kind) {
			b.lacksKind(n, f)
			return
		}
		b.add(codeProviderLacks, n.at, fmt.Sprintf("this source of %s has no field %s", b.cat.provider, n), "remove the condition")
		return
	}
	if owners := ownersOf(n.text); len(owners) > 0 {
		b.add(codeMemberOutside, n.at, fmt.Sprintf("%s is a member of %s and no field of the entity", n, list(owners, "and")), memberAdvice(n.text, owners))
		return
	}
	b.add(codeUnknownField, n.at, fmt.Sprintf("there is no field %q", clip(n.text, 60)), b.fieldAdvice(n.text))
}

// memberAdvice says how to write a member that stands outside its quantifier.
func memberAdvice(member string, owners []string) string {
	if member == "by" || member == "at" || member == "text" {
		return fmt.Sprintf("write it inside parentheses: any comment(%s …); who created the entity is author, its text is body", member)
	}
	return fmt.Sprintf("write it inside parentheses: any %s(%s …)", owners[0], member)
}

// fieldOfV1 finds a field of the language, whichever provider has it.
func fieldOfV1(n name) *Field {
	for i := range v1 {
		if v1[i].Name == n.text || n.custom && v1[i].Type == TypeCustom {
			return &v1[i]
		}
	}
	return nil
}

// ownersOf lists the element fields that have a member of that name.
func ownersOf(member string) []string {
	var out []string
	for i := range v1 {
		if _, ok := v1[i].Member(member); ok && v1[i].Empty != NotTestable {
			out = append(out, v1[i].Name)
		}
	}
	return out
}

func (b *binder) lookupMember(n name, in *Field) *Field {
	if !n.custom {
		if m, ok := in.Member(n.text); ok {
			return m
		}
	}
	has := fmt.Sprintf("%s has %s", in.Name, list(memberNames(in), "and"))
	if m, ok := in.Member(memberAliases[n.text]); ok && (n.text != in.Name || m.ID == MName) {
		b.add(codeUnknownMember, n.at, fmt.Sprintf("%s has no member %q", in.Name, n.text), "write "+m.Name)
		return nil
	}
	if fieldOfV1(n) != nil {
		b.add(codeFieldInside, n.at, fmt.Sprintf("%s is a field of the entity and no member of %s", n, in.Name), "write it outside the parentheses; "+has)
		return nil
	}
	b.add(codeUnknownMember, n.at, fmt.Sprintf("%s has no member %q", in.Name, clip(n.text, 60)), didYouMean(n.text, memberNames(in), has))
	return nil
}

func memberNames(f *Field) []string {
	out := make([]string, len(f.Members))
	for i, m := range f.Members {
		out[i] = m.Name
	}
	return out
}

// memberAliases maps what people write for a member to its name.
var memberAliases = map[string]string{
	"author": "by", "user": "by", "actor": "by", "reviewer": "by", "commenter": "by", "who": "by",
	"created": "at", "created_at": "at", "updated": "at", "updated_at": "at", "date": "at", "time": "at", "when": "at", "on": "at",
	"body": "text", "content": "text", "message": "text", "comment": "text",
	"label": "name", "labels": "name", "title": "name", "value": "name",
	"status": "state", "head": "on_head",
	"slash": "command", "cmd": "command",
}

// fieldAliases maps what providers and people call a field to its name.
var fieldAliases = map[string]string{
	"labels": "label", "tag": "label", "tags": "label", "reporter": "author", "creator": "author", "user": "author", "opened_by": "author", "created_by": "author", "owner": "author",
	"assignees": "assignee", "assigned": "assignee", "assigned_to": "assignee", "reviewers": "reviewer", "review_requested": "reviewer", "requested_reviewer": "reviewer",
	"summary": "title", "subject": "title", "description": "body", "text_body": "body", "comments": "comment", "note": "comment", "notes": "comment", "reviews": "review",
	"issuetype": "type", "issue_type": "type", "kind": "type", "resolution": "status_category", "statuscategory": "status_category",
	"closed_at": "closed", "resolved": "closed", "merged_at": "closed", "created_at": "created", "opened": "created", "updated_at": "updated", "modified": "updated", "changed": "updated",
	"target_branch": "base", "base_branch": "base", "base_ref": "base", "branch": "base", "source_branch": "head", "head_branch": "head", "head_ref": "head",
	"ci": "checks", "check": "checks", "pipeline": "checks", "build": "checks", "status_check": "checks", "is_draft": "draft", "wip": "draft", "fork": "is_fork", "is_merged": "merged",
	"duedate": "due", "due_date": "due", "deadline": "due", "fixversion": "fix_version", "fixversions": "fix_version", "components": "component", "milestones": "milestone", "sprint_milestone": "milestone",
	"linked_pr": "linked_change_proposal", "linked_mr": "linked_change_proposal", "pr": "linked_change_proposal", "mr": "linked_change_proposal", "pull_request": "linked_change_proposal", "linked": "linked_change_proposal",
	"is_locked": "locked", "author_type": "author_kind", "bot": "author_kind", "is_bot": "author_kind", "epic": "parent", "commented": "last_comment", "last_commented": "last_comment",
}

// leftOut says why some names that people look for are not in v1.
var leftOut = map[string]string{
	"sprint": "sprints are not part of v1", "rank": "rank is not part of v1", "project": "the project is the source's scope, never a condition", "repo": "the repository is the source's scope, never a condition",
	"repository": "the repository is the source's scope, never a condition", "org": "the scope is the source's, never a condition", "files": "changed files are not part of v1", "mergeable": "mergeability is not part of v1",
	"votes": "counting is not part of v1", "reactions": "counting is not part of v1", "role": "roles belong to admission, not to the query", "thread": "threads are not part of v1", "jql": "a provider's own query is not part of v1",
	"is": "write the field itself, such as state = open",
}

func (b *binder) fieldAdvice(text string) string {
	if why, ok := leftOut[text]; ok {
		return why
	}
	alias := fieldAliases[text]
	if text == "status" || alias == "status_category" && b.cat.provider != Jira {
		alias = "state"
	}
	if _, ok := b.cat.Field(alias); ok {
		return fmt.Sprintf("write %s", alias)
	}
	return didYouMean(text, b.cat.names, "the fields are "+list(b.names(), "and"))
}

// names are the fields of the catalogue that this kind of entity has.
func (b *binder) names() []string {
	var out []string
	for _, n := range b.cat.names {
		if slices.Contains(b.cat.byName[n].Kinds, b.kind) {
			out = append(out, n)
		}
	}
	if b.cat.custom && slices.Contains(b.cat.template.Kinds, b.kind) {
		out = append(out, customName)
	}
	return out
}

// wordAliases maps what people write for a fixed word to it; a colon marks a whole condition.
var wordAliases = map[string]string{
	"opened": "open", "reopened": "open", "new": "todo", "resolved": "closed", "done": "closed", "fixed": "closed", "close": "closed",
	"locked": "open", "indeterminate": "in_progress", "to_do": "todo", "inprogress": "in_progress", "in progress": "in_progress", "to do": "todo", "complete": "done", "completed": "done",
	"passed": "success", "passing": "success", "green": "success", "ok": "success", "successful": "success", "failed": "failure", "failing": "failure", "error": "failure", "red": "failure",
	"running": "pending", "in_progress": "pending", "queued": "pending", "none": "missing", "app": "bot", "robot": "bot", "person": "human", "user": "human",
	"approve": "approved", "request_changes": "changes_requested", "changes requested": "changes_requested", "rejected": "changes_requested", "comment": "commented", "dismiss": "dismissed",
}

func wordAdvice(w string, f *Field) string {
	switch {
	case f.ID == FState && w == "merged":
		return "write merged = true; closed includes merged"
	case f.ID == FState && w == "draft":
		return "write draft = true"
	case f.ID == FState && w == "all":
		return "remove the condition: without it every state matches"
	}
	if a := wordAliases[w]; slices.Contains(f.Words, a) {
		return "write " + a
	}
	return didYouMean(w, f.Words, "write "+list(f.Words, "or"))
}

// didYouMean names the candidate nearest to text, or gives otherwise.
func didYouMean(text string, candidates []string, otherwise string) string {
	best, least := "", 3
	for _, c := range candidates {
		limit := min(2, (len(c)+1)/3)
		if d := distance(text, c, limit); d <= limit && d < least {
			best, least = c, d
		}
	}
	if best == "" {
		return otherwise
	}
	return "did you mean " + best + "?"
}

// distance counts insertions, deletions, replacements and swaps of neighbours; it may stop above limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

// list joins words for a sentence.
func list(words []string, with string) string {
	switch len(words) {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + with + " " + words[len(words)-1]
}

func kindName(k Kind) string {
	switch k {
	case WorkItem:
		return "work items"
	case ChangeProposal:
		return "change proposals"
	}
	return string(k)
}

func kindNames(ks []Kind) string {
	out := make([]string, len(ks))
	for i, k := range ks {
		out[i] = kindName(k)
	}
	return list(out, "and")
}

func typeName(t Type) string {
	switch t {
	case TypeBool:
		return "true or false"
	case TypeWord:
		return "one of a few words"
	case TypeName:
		return "a name"
	case TypeRef:
		return "a git ref"
	case TypeUser:
		return "an account"
	case TypeText:
		return "text"
	case TypeInstant:
		return "an instant"
	case TypeDate:
		return "a date"
	case TypeNumber:
		return "a number"
	case TypeElements:
		return "a collection"
	case TypeCustom:
		return "a custom field"
	}
	return "of no type"
}

func valueName(k valueKind) string {
	return [...]string{"a string", "a number", "true or false", "a word", "an instant", "a date", "an instant", "an account", "malformed"}[k]
}

func opName(o Op) string {
	return [...]string{"=", "<", "<=", ">", ">=", "contains", "starts with", "is empty"}[o]
}

func opNames(ops []Op) []string {
	var out []string
	for _, o := range ops {
		out = append(out, opName(o))
		if o == OpIn {
			out = append(out, "!=", "in")
		}
	}
	return out
}

// exampleTest is a correct test of f.
func exampleTest(f *Field) string {
	if f.Type != TypeElements {
		return exampleFor(f, f.Name)
	}
	if f.Empty == NotTestable {
		return f.Name + ` contains "…"`
	}
	if len(f.Members) == 0 {
		return f.Name + " is empty"
	}
	m := f.Members[0]
	return fmt.Sprintf("any %s(%s)", f.Name, exampleFor(m, m.Name))
}

// exampleFor is a correct test of a plain field or member that is called shown.
func exampleFor(f *Field, shown string) string {
	switch f.Type {
	case TypeBool:
		return shown + " = true"
	case TypeWord:
		if len(f.Words) > 0 {
			return shown + " = " + f.Words[0]
		}
	case TypeUser:
		return shown + ` = "login"`
	case TypeText:
		return shown + ` contains "…"`
	case TypeInstant:
		return shown + " < now - 14d"
	case TypeDate:
		return shown + " < now + 3d"
	}
	return shown + ` = "…"`
}
