package query

func judge(root expr, whole Span, r *report) {}
