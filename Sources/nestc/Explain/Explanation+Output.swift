import NestDocuments
import NestModel

/// An explanation for people and for programs.
extension Explanation {
    /// Names and sentences, for people.
    var lines: [Part] {
        var lines = self.request
        lines.append(Part("first rows", "\(self.candidates): \(self.readingText)"))
        lines.append(Part("changes", self.routingText))
        for path in self.paths {
            let tables = path.tables.joined(separator: ", ")
            lines.append(Part("reads", "\(path.text): changes of \(tables) are followed back"))
        }
        for subtree in self.subtrees {
            let objects = subtree.objects.map { "\($0) objects are" } ?? "its objects will be"
            let text = "\(subtree.text): \(objects) kept as a set; moving one takes those below it along"
            lines.append(Part("sub-tree", text))
        }
        let journal =
            self.isInJournal
            ? "a client that returns gets the net difference, also after a restart"
            : "a client that returns gets the net difference while the result is kept; after a restart, a snapshot"
        lines.append(Part("returning", journal))
        guard let live = self.live else {
            lines.append(Part("live", "no: nobody follows it"))
            return lines
        }
        let sections = live.sections == 1 ? "" : " in \(live.sections) sections"
        lines.append(Part("live", "\(live.rows) rows\(sections), \(live.bytes) bytes"))
        let (subscriptions, views) = (counted(live.subscriptions, "subscription"), counted(live.views, "view"))
        lines.append(Part("shared by", "\(subscriptions) in \(views)"))
        let (objects, commits) = (counted(live.evaluations, "object"), counted(live.changes, "commit"))
        lines.append(Part("so far", "looked at for \(objects), changed by \(commits)"))
        return lines
    }

    private var readingText: String {
        switch self.reading {
        case .ordered: "the store gives them in order"
        case .sorted: "the store gives them, and they are sorted"
        case .examined: "the store gives what may be rows, each is looked at, and they are sorted"
        }
    }

    private var routingText: String {
        switch self.routing {
        case .value: "only objects with \(self.route), before or after, are looked at"
        case .pair: "only objects and pairs of \(self.route) are looked at"
        case .table: "every changed object of \(self.route) is looked at"
        }
    }

    /// One object with all of it.
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

/// `1 view`, `2 views`.
