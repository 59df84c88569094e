package query

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const maxString = 1024 // bytes

// quote writes s as a string of the language: double quotes, and an escape for everything that does not print.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case !unicode.IsPrint(r) && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unquote decodes a string token; every fault of it is reported.
func unquote(t token, r *report) (string, bool) {
	raw, q, ok := t.Value, t.Value[0], true
	var b strings.Builder
	for i := 1; i < len(raw); {
		at := Span{t.at.Start + i, t.at.Start + i + 1}
		switch c := raw[i]; {
		case c == q:
			if b.Len() > maxString {
				r.add(codeStringTooLong, t.at, fmt.Sprintf("the string has %d bytes", b.Len()), "1,024 bytes are allowed")
				return "", false
			}
			return b.String(), ok
		case c == '\\':
			ru, n := escape(raw[i:])
			if n == 0 {
				n = min(2, len(raw)-i)
				_, w := utf8.DecodeRuneInString(raw[i+n-1:])
				n += w - 1
				at.End = t.at.Start + i + n
				r.add(codeEscape, at, raw[i:i+n]+" is not an escape",
					`the escapes are \\ \" \' \n \t and \u with four hexadecimal digits`)
				ok = false
			}
			b.WriteRune(ru)
			i += n
		case c < 0x20 && c != '\t' || c == 0x7f:
			r.add(codeCharacter, at, fmt.Sprintf("a string holds the control character %+q", c), fmt.Sprintf(`write \u%04x`, c))
			ok = false
			i++
		default:
			_, n := utf8.DecodeRuneInString(raw[i:])
			b.WriteString(raw[i : i+n])
			i += n
		}
	}
	r.add(codeOpenString, t.at, fmt.Sprintf("the string %s is not closed on its line", clip(raw, 40)),
		fmt.Sprintf(`close it with %c; a line break in it is written \n`, q))
	return "", false
}

// closed reports whether a string token ends with the quote that it begins with.
func closed(raw string) bool {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case raw[0]:
			return true
		case '\\':
			i++
		}
	}
	return false
}

// escape decodes the escape that s begins with; n is 0 when it is none. A surrogate and the null character are no text.
func escape(s string) (r rune, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '\\', '"', '\'':
		return rune(s[1]), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'u':
		if len(s) < 6 {
			return 0, 0
		}
		u, err := strconv.ParseUint(s[2:6], 16, 16)
		if err != nil || u == 0 || !utf8.ValidRune(rune(u)) {
			return 0, 0
		}
		return rune(u), 6
	}
	return 0, 0
}

var (
	instantShape = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?(Z|[+-]\d{2}:\d{2})$`)
	zoneShape    = regexp.MustCompile(`(?i)(Z|[+-]\d{2}(:?\d{2})?)$`)
	finerShape   = regexp.MustCompile(`\.\d{4,}`)
)

// parseInstant reads an RFC 3339 instant with a zone and at most milliseconds.
func parseInstant(t token, r *report) (value, bool) {
	up := strings.ToUpper(t.Value)
	example := "write it as 2026-01-31T09:00:00Z"
	switch tm, err := time.Parse(time.RFC3339Nano, up); {
	case !zoneShape.MatchString(up[strings.IndexByte(up, 'T')+1:]):
		r.add(codeNoZone, t.at, fmt.Sprintf("%q has no time zone", clip(t.Value, 40)), `end it with Z for UTC, or an offset such as +02:00`)
	case finerShape.MatchString(up):
		r.add(codeTime, t.at, fmt.Sprintf("%q is finer than a millisecond", clip(t.Value, 40)), "write at most three digits of a second")
	case err != nil || !instantShape.MatchString(up):
		r.add(codeTime, t.at, fmt.Sprintf("%q is not an instant", clip(t.Value, 40)), example)
	case outOfTime(tm.UTC()):
		r.add(codeTime, t.at, fmt.Sprintf("%q is outside the years 1970 to 9999", clip(t.Value, 40)), example)
	default:
		tm = tm.UTC()
		return value{kind: valInstant, time: tm, text: tm.Format("2006-01-02T15:04:05.999Z07:00"), at: t.at}, true
	}
	return value{kind: valHole, at: t.at}, false
}

// parseDate reads a calendar day.
func parseDate(t token, r *report) (value, bool) {
	tm, err := time.Parse(time.DateOnly, t.Value)
	if err != nil || outOfTime(tm) {
		r.add(codeTime, t.at, fmt.Sprintf("%q is not a day of the calendar from 1970 to 9999", clip(t.Value, 40)), "write it as 2026-01-31")
		return value{kind: valHole, at: t.at}, false
	}
	return value{kind: valDate, time: tm, text: tm.Format(time.DateOnly), at: t.at}, true
}

func outOfTime(t time.Time) bool { return t.Year() < 1970 || t.Year() > 9999 }

// parseNumber reads a decimal number; more digits than a float keeps would make equality a matter of luck.
func parseNumber(text string, at Span, r *report) (value, bool) {
	sign, digits := "", text
	if d, ok := strings.CutPrefix(text, "-"); ok {
		sign, digits = "-", d
	}
	whole, frac, _ := strings.Cut(digits, ".")
	whole, frac = strings.TrimLeft(whole, "0"), strings.TrimRight(frac, "0")
	if len(whole)+len(frac) > 15 {
		r.add(codeNumber, at, fmt.Sprintf("%q has more than 15 digits", clip(text, 40)), "write fewer digits, or text in quotes")
		return value{kind: valHole, at: at}, false
	}
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		whole += "." + frac
	}
	if whole == "0" {
		sign = ""
	}
	f, err := strconv.ParseFloat(sign+whole, 64)
	if err != nil || math.IsInf(f, 0) {
		r.add(codeNumber, at, fmt.Sprintf("%q is not a number", clip(text, 40)), "")
		return value{kind: valHole, at: at}, false
	}
	return value{kind: valNumber, num: f, text: sign + whole, at: at}, true
}

// units of a span, in order of the grammar. There is no m: it means minutes to some and months to others.
var units = map[string]time.Duration{"min": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

var unitAdvice = map[string]string{
	"m": "write min for minutes; months do not exist, write days",
	"s": "the smallest unit is min", "sec": "the smallest unit is min", "second": "the smallest unit is min", "seconds": "the smallest unit is min", "ms": "the smallest unit is min",
	"minute": "write min", "minutes": "write min", "mins": "write min", "hour": "write h", "hours": "write h", "hr": "write h", "hrs": "write h",
	"day": "write d", "days": "write d", "week": "write w", "weeks": "write w",
	"mo": "months do not exist, write days", "mon": "months do not exist, write days", "month": "months do not exist, write days", "months": "months do not exist, write days",
	"y": "years do not exist, write days", "year": "years do not exist, write days", "years": "years do not exist, write days",
	"bd": "business days do not exist, write d",
}

const maxOffsetDays = 36525 // a hundred years

// parseSpan reads a span such as 14d.
func parseSpan(t token, r *report) (d time.Duration, canonical string, ok bool) {
	i := strings.IndexFunc(t.Value, unicode.IsLetter)
	if i < 0 {
		i = len(t.Value)
	}
	digits, unit := t.Value[:i], strings.ToLower(t.Value[i:])
	u, known := units[unit]
	switch n, err := strconv.ParseUint(digits, 10, 32); {
	case !known:
		advice := unitAdvice[unit]
		if advice == "" {
			advice = "the units are min, h, d and w"
		}
		r.add(codeSpan, t.at, fmt.Sprintf("%q has no unit of this language", clip(t.Value, 40)), advice)
	case strings.Contains(digits, "."):
		r.add(codeSpan, t.at, fmt.Sprintf("%q is not a whole number", clip(t.Value, 40)), "use a smaller unit")
	case err != nil || n > uint64(maxOffsetDays*24*time.Hour/u):
		r.add(codeSpan, t.at, fmt.Sprintf("%q is longer than a hundred years", clip(t.Value, 40)), "write a shorter span, or an instant")
	default:
		return time.Duration(n) * u, strconv.FormatUint(n, 10) + unit, true
	}
	return 0, "", false
}
