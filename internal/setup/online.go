package setup

import (
	"context"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
)

// Opener opens sessions one by one, for what is asked outside of a cycle. Each has a budget of its own.
func Opener(o Options) func(context.Context, *config.InputDriver, config.ScopeRef, query.Kind) (adapters.Session, error) {
	return func(ctx context.Context, d *config.InputDriver, sc config.ScopeRef, k query.Kind) (adapters.Session, error) {
		_, agents := accounts(d)
		return o.Registry[d.Provider].Open(ctx, adapters.Config{
			BaseURL: d.BaseURL, Container: sc.Container, Kind: k, Settings: d.Settings,
			Token: token(d.TokenEnv, o.Getenv), HTTP: o.HTTP, Budget: poll.NewMeter(o.Now, 0, o.Budget).Lane(),
			Agents: agents, Now: o.Now,
		})
	}
}
