// Package jira shows a simulated world as Jira: Cloud (search/jql, changelog in bulk, ADF) and Data Center (search by offset,
// wiki text). Its JQL evaluator has Jira's semantics and is written for this package alone.
//
// A repository of the world is a project, whose key is its name in capitals; a work item is an issue; change proposals
// are not shown. What only Jira has (statuses, priority, components, custom fields, groups, archives) is set through the
// face's own methods, which touch the entity in the world.
package jira
