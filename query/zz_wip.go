package query

type syntax interface{}
