package github

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// nodeID makes an opaque id of the new form, or of the old one.
func nodeID(legacy bool, typ, prefix string, parts ...int64) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = strconv.FormatInt(p, 10)
	}
	key := strings.Join(texts, ".")
	if legacy {
		return base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%03d:%s%s", len(typ), typ, key)))
	}
	return prefix + "_kw" + base64.RawURLEncoding.EncodeToString([]byte(key))
}

// parseNodeID reads both forms. typ is the prefix of the new one or the type of the old one.
func parseNodeID(id string) (typ string, parts []int64, ok bool) {
	var key string
	if prefix, rest, found := strings.Cut(id, "_kw"); found {
		b, err := base64.RawURLEncoding.DecodeString(rest)
		if err != nil {
			return "", nil, false
		}
		typ, key = prefix, string(b)
	} else {
		b, err := base64.StdEncoding.DecodeString(id)
		if err != nil || len(b) < 5 || b[3] != ':' {
			return "", nil, false
		}
		n, err := strconv.Atoi(string(b[:3]))
		if err != nil || n > len(b)-4 {
			return "", nil, false
		}
		typ, key = string(b[4:4+n]), string(b[4+n:])
	}
	for _, t := range strings.Split(key, ".") {
		n, err := strconv.ParseInt(t, 10, 64)
		if err != nil {
			return "", nil, false
		}
		parts = append(parts, n)
	}
	return typ, parts, true
}

// cursorOf is the place behind a row: its sort key at a second's grain, and its id, packed as GitHub packs it
// (decoded from a cursor in vega/editor-backend#45).
func cursorOf(second string, id int64) string {
	b := []byte("cursor:v2:\x92\xd9")
	b = append(b, byte(len(second)))
	b = append(b, second...)
	b = append(b, 0xcf)
	for shift := 56; shift >= 0; shift -= 8 {
		b = append(b, byte(id>>shift))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func parseCursor(s string) (second string, id int64, ok bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", 0, false
	}
	rest, ok := strings.CutPrefix(string(b), "cursor:v2:\x92\xd9")
	if !ok || len(rest) < 1 || len(rest) != int(rest[0])+10 || rest[1+rest[0]] != 0xcf {
		return "", 0, false
	}
	for _, c := range []byte(rest[2+rest[0]:]) {
		id = id<<8 | int64(c)
	}
	return rest[1 : 1+rest[0]], id, true
}
