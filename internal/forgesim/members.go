package forgesim

import (
	"slices"
	"time"
)

// Membership is what makes an account a member of a repository, as opposed to what everybody may do there.
type Membership struct {
	Role    Role      // None: no member
	Expires time.Time // the day on which it ends; zero: never
	Blocked bool      // the account is blocked, and a member all the same
}

// Member is an account's membership, by ids. Owners are members of what they own; administrators of the instance and the
// public are not.
func (w *World) Member(repoID, userID int64) Membership {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, u := w.repos[repoID], w.users[userID]
	if r == nil || u == nil || u.Deleted {
		return Membership{}
	}
	m := Membership{Role: r.roles[userID], Expires: r.expires[userID], Blocked: u.Blocked}
	if u.ID == r.OwnerID {
		m.Role = Owner
	}
	return m
}

// ExpireMember sets the day on which a membership ends; zero: never.
func (w *World) ExpireMember(full, login string, day time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(full)
	if err != nil {
		return err
	}
	u, err := w.user(login)
	if err != nil {
		return err
	}
	if r.expires == nil {
		r.expires = map[int64]time.Time{}
	}
	r.expires[u.ID] = day
	return nil
}

// BlockUser blocks an account, or lets it in again. Its memberships stay.
func (w *World) BlockUser(login string, blocked bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, err := w.user(login)
	if err != nil {
		return err
	}
	u.Blocked = blocked
	return nil
}

// SetConfidential hides an entity from all but those who may see such things, or shows it again.
func (w *World) SetConfidential(ref, as string, on bool) error {
	return w.on(ref, as, func(e *edit, _ int64) error {
		if e.confidential != on {
			e.confidential = on
			e.touch(ConfidentialSet)
		}
		return nil
	})
}

// Confidential reports whether the row's entity is hidden from most.
func (r Row) Confidential() bool { return r.s.confidential }

// Involves reports whether an account opened the entity or is assigned to it.
func (r Row) Involves(user int64) bool {
	return r.t.author == user || slices.Contains(r.s.assignees, user)
}
