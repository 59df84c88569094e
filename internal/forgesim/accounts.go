package forgesim

import (
	"cmp"
	"slices"
)

// AddUser adds an account; ID and Created are given by the world.
func (w *World) AddUser(u User) (User, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u.Login == "" {
		return User{}, usage("a user needs a login")
	}
	if _, err := w.user(u.Login); err == nil {
		return User{}, refused("user %q exists", u.Login)
	}
	u.ID = w.id("user")
	u.Created, _ = w.clock.tick()
	w.users[u.ID] = &u
	delete(w.renamed, fold(u.Login)) // a new account under an old login wins
	return u, nil
}

// RenameUser gives an account another login; the old one redirects.
func (w *World) RenameUser(login, to string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, err := w.user(login)
	if err != nil {
		return err
	}
	if _, err := w.user(to); err == nil {
		return refused("user %q exists", to)
	}
	w.renamed[fold(u.Login)] = u.ID
	delete(w.renamed, fold(to))
	u.Login = to
	return nil
}

// DeleteUser removes an account, also from the assignees. What it wrote stays, without an author.
func (w *World) DeleteUser(login string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, err := w.user(login)
	if err != nil {
		return err
	}
	u.Deleted = true
	for _, r := range w.repos {
		delete(r.roles, u.ID)
	}
	for text, t := range w.tokens {
		if t.user == u.ID {
			delete(w.tokens, text)
		}
	}
	return w.changeAll(func(t *thread) bool { return slices.Contains(t.now().assignees, u.ID) }, func(e *edit) error {
		e.assignees = slices.DeleteFunc(e.assignees, func(id int64) bool { return id == u.ID })
		e.touch(AccountDeleted)
		return nil
	})
}

// AddToken makes a credential of an account. No scopes: all of them.
func (w *World) AddToken(text, login string, scopes ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, err := w.user(login)
	if err != nil {
		return err
	}
	w.tokens[text] = token{user: u.ID, scopes: slices.Clone(scopes)}
	return nil
}

// RevokeToken ends a credential.
func (w *World) RevokeToken(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.tokens[text]; !ok {
		return missing("token")
	}
	delete(w.tokens, text)
	return nil
}

// Token finds a credential.
func (w *World) Token(text string) (Token, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tokens[text]
	if !ok {
		return Token{}, false
	}
	return Token{Text: text, User: *w.users[t.user], Scopes: t.scopes}, true
}

// User finds an account by login. The second result is the account that had this login
// before, when no account has it now.
func (w *World) User(login string) (u User, was *User, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u, err := w.user(login); err == nil {
		return *u, nil, true
	}
	if id, ok := w.renamed[fold(login)]; ok && !w.users[id].Deleted {
		old := *w.users[id]
		return User{}, &old, false
	}
	return User{}, nil, false
}

// UserByID finds an account, also a deleted one.
func (w *World) UserByID(id int64) (User, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.users[id]; u != nil {
		return *u, true
	}
	return User{}, false
}

// SetRole gives an account a role on a repository; None takes it away.
func (w *World) SetRole(repository, login string, role Role) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(repository)
	if err != nil {
		return err
	}
	u, err := w.user(login)
	if err != nil {
		return err
	}
	if role == None {
		delete(r.roles, u.ID)
		return nil
	}
	r.roles[u.ID] = role
	return nil
}

// Users are all accounts, deleted ones included, by id.
func (w *World) Users() []User {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]User, 0, len(w.users))
	for _, u := range w.users {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b User) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Role is an account's effective right on a repository, by ids. A stranger may read what is
// public; id 0 is nobody.
func (w *World) Role(repoID, userID int64) Role {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.repos[repoID]
	if r == nil {
		return None
	}
	return w.role(r, userID)
}

func (w *World) role(r *repo, userID int64) Role {
	u := w.users[userID]
	role := r.roles[userID]
	if u != nil && u.Deleted {
		return None
	}
	if u != nil && u.ID == r.OwnerID {
		role = Owner
	}
	if u != nil && u.SiteRoot {
		role = Owner // as the permission endpoint of Gitea 1.24.6 answers
	}
	if role == None && !r.Private {
		role = Read
	}
	return role
}

func (w *World) actor(r *repo, id int64) Actor {
	u := w.users[id]
	if u == nil || u.Deleted {
		return Actor{ID: id, Deleted: true}
	}
	return Actor{ID: id, Login: u.Login, Bot: u.Bot, Role: w.role(r, id)}
}
