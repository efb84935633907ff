import NestDocuments
import NestModel

/// The output of an explanation, as text and as JSON.
extension Explanation {
    /// The lines of the text form.
    var lines: [Part] {
        var lines = self.request
        lines.append(Part("first rows", "\(self.candidates): \(self.readingText)"))
        lines.append(Part("changes", self.routingText))
        for path in self.paths {
            let tables = path.tables.joined(separator: ", ")
            lines.append(Part("reads", "\(path.text): changes of \(tables) are traced back to rows"))
        }
        for subtree in self.subtrees {
            let objects =
                subtree.objects.map { "\(counted($0, "object")) \($0 == 1 ? "is" : "are")" } ?? "its objects are"
            let text = "\(subtree.text): \(objects) kept as a set; moving one also moves those below it"
            lines.append(Part("sub-tree", text))
        }
        let journal =
            self.isInJournal
            ? "a resuming client gets the net difference, even after a restart"
            : "a resuming client gets the net difference while the result is kept, and a snapshot after a restart"
        lines.append(Part("resuming", journal))
        guard let live = self.live else {
            lines.append(Part("live", "no: no client follows it"))
            return lines
        }
        let sections = live.sections == 1 ? "" : " in \(counted(live.sections, "section"))"
        lines.append(Part("live", "\(counted(live.rows, "row"))\(sections), \(counted(live.bytes, "byte"))"))
        let (subscriptions, views) = (counted(live.subscriptions, "subscription"), counted(live.views, "view"))
        lines.append(Part("shared by", "\(subscriptions) in \(views)"))
        let (objects, commits) = (counted(live.evaluations, "object"), counted(live.changes, "commit"))
        lines.append(Part("so far", "evaluated for \(objects), changed by \(commits)"))
        return lines
    }

    private var readingText: String {
        switch self.reading {
        case .ordered: "the store returns them in order"
        case .sorted: "the store returns them, and the server sorts them"
        case .examined: "the store returns candidates, and the server filters and sorts them"
        }
    }

    private var routingText: String {
        switch self.routing {
        case .value: "only objects with \(self.route) before or after the change are evaluated"
        case .pair: "only objects and pairs of \(self.route) are evaluated"
        case .table: "every changed object of \(self.route) is evaluated"
        }
    }

    /// The explanation as one JSON object.
    var json: JSONWriter {
        .object { json in
            json.field("revision", self.revision)
            json.key("request")
            json.object { json in for part in self.request { json.field(part.name, part.text) } }
            json.key("routing")
            json.object { json in
                json.field("kind", self.routing.name)
                json.field("by", self.route)
            }
            json.key("reading")
            json.object { json in
                json.field("kind", self.reading.name)
                json.field("candidates", self.candidates)
            }
            json.key("paths")
            json.array(self.paths) { json, path in
                json.object { json in
                    json.field("path", path.text)
                    json.key("tables")
                    json.array(path.tables) { $0.string($1) }
                }
            }
            json.key("subtrees")
            json.array(self.subtrees) { json, subtree in
                json.object { json in
                    json.field("subtree", subtree.text)
                    json.key("objects")
                    if let objects = subtree.objects { json.integer(objects) } else { json.null() }
                }
            }
            json.field("inJournal", self.isInJournal)
            json.key("live")
            guard let live = self.live else { return json.null() }
            json.object { json in
                json.field("rows", live.rows)
                json.field("sections", live.sections)
                json.field("bytes", live.bytes)
                json.field("views", live.views)
                json.field("subscriptions", live.subscriptions)
                json.field("evaluations", live.evaluations)
                json.field("changes", live.changes)
            }
        }
    }
}
