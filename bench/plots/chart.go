package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// chart has logarithmic axes: what is compared differs by orders of magnitude.
type chart struct {
	title, under, x, y string
	lines              []*line
}

type line struct {
	name   string
	points []point
}

// point is a median with the range of its repetitions.
type point struct{ x, y, least, most float64 }

// The canvas, and the frame within it.
const (
	width, height       = 720, 440
	left, right         = 90, 560
	top, bottom         = 60, 380
	palette             = "#0b62a4 #d1495b #2e7d32 #8e6c00 #6a4c93"
	fontFamily          = "system-ui, sans-serif"
	labelSize, nameSize = 12, 16
)

func (c *chart) write(file string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="%s" font-size="%d">`+"\n", width, height, fontFamily, labelSize)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	text(&b, left, 26, "start", nameSize, c.title)
	text(&b, left, 44, "start", labelSize, c.under)
	xs, ys := c.axes()
	for _, t := range xs.ticks() {
		x := xs.at(t, left, right)
		fmt.Fprintf(&b, `<path d="M%.1f %d V%d" stroke="#ddd"/>`+"\n", x, top, bottom)
		text(&b, x, bottom+18, "middle", labelSize, number(t))
	}
	for _, t := range ys.ticks() {
		y := ys.at(t, bottom, top)
		fmt.Fprintf(&b, `<path d="M%d %.1f H%d" stroke="#ddd"/>`+"\n", left, y, right)
		text(&b, left-8, y+4, "end", labelSize, strings.TrimSpace(number(t)+" "+c.y))
	}
	text(&b, (left+right)/2, bottom+40, "middle", labelSize, c.x)
	colours := strings.Fields(palette)
	for i, l := range c.lines {
		l.draw(&b, xs, ys, colours[i%len(colours)])
	}
	c.names(&b, xs, ys)
	b.WriteString("</svg>\n")
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

func (l *line) draw(b *strings.Builder, xs, ys scale, colour string) {
	path := ""
	for i, p := range l.points {
		op := "L"
		if i == 0 {
			op = "M"
		}
		x, y := xs.at(p.x, left, right), ys.at(p.y, bottom, top)
		path += fmt.Sprintf("%s%.1f %.1f ", op, x, y)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/><path d="M%.1f %.1f V%.1f" stroke="%s"/>`+"\n",
			x, y, colour, x, ys.at(p.least, bottom, top), ys.at(p.most, bottom, top), colour)
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.TrimSpace(path), colour)
}

// names stand at the ends of the lines, as far apart as letters are high.
func (c *chart) names(b *strings.Builder, xs, ys scale) {
	lines := slices.Clone(c.lines)
	end := func(l *line) point { return l.points[len(l.points)-1] }
	slices.SortFunc(lines, func(l, m *line) int { return cmp.Compare(end(m).y, end(l).y) })
	free := 0.0
	for _, l := range lines {
		y := max(free, ys.at(end(l).y, bottom, top)+4)
		free = y + labelSize + 2
		text(b, xs.at(end(l).x, left, right)+8, y, "start", labelSize, l.name+" "+number(end(l).y))
	}
}

func text(b *strings.Builder, x, y float64, anchor string, size int, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>`+"\n", x, y, anchor, size, html.EscapeString(s))
}

// axes span all points, to whole powers of ten.
func (c *chart) axes() (x, y scale) {
	x, y = scale{math.Inf(1), math.Inf(-1)}, scale{math.Inf(1), math.Inf(-1)}
	for _, l := range c.lines {
		for _, p := range l.points {
			x.include(p.x)
			y.include(p.least)
			y.include(p.most)
		}
	}
	return x.whole(), y.whole()
}

// scale is the logarithms of the ends of an axis.
type scale struct{ from, to float64 }

func (s *scale) include(v float64) {
	v = math.Log10(max(v, 1e-3))
	s.from, s.to = min(s.from, v), max(s.to, v)
}

func (s scale) whole() scale {
	s.from, s.to = math.Floor(s.from), math.Ceil(s.to)
	if s.from == s.to {
		s.to++
	}
	return s
}

func (s scale) at(v float64, low, high float64) float64 {
	return low + (math.Log10(max(v, 1e-3))-s.from)/(s.to-s.from)*(high-low)
}

func (s scale) ticks() []float64 {
	var out []float64
	for e := s.from; e <= s.to; e++ {
		out = append(out, math.Pow(10, e))
	}
	return out
}

// number has three significant digits.
func number(v float64) string {
	if v >= 100 {
		return group(strconv.FormatFloat(math.Round(v), 'f', 0, 64))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// group sets a comma between thousands.
func group(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
