import NestModel

/// The byte form of an explanation.
extension ByteWriter {
    package mutating func write(explanation: Explanation) {
        self.write(revision: explanation.revision)
        self.write(count: explanation.request.count)
        for part in explanation.request {
            self.write(string: part.name)
            self.write(string: part.text)
        }
        self.write(byte: explanation.routing.rawValue)
        self.write(string: explanation.route)
        self.write(byte: explanation.reading.rawValue)
        self.write(string: explanation.candidates)
        self.write(count: explanation.paths.count)
        for path in explanation.paths {
            self.write(string: path.text)
            self.write(count: path.tables.count)
            for table in path.tables { self.write(string: table) }
        }
        self.write(count: explanation.subtrees.count)
        for subtree in explanation.subtrees {
            self.write(string: subtree.text)
            // 0: unknown.
            self.write(count: subtree.objects.map { $0 + 1 } ?? 0)
        }
        self.write(byte: explanation.isInJournal ? 1 : 0)
        self.write(byte: explanation.live == nil ? 0 : 1)
        guard let live = explanation.live else { return }
        for number in [
            live.rows, live.sections, live.bytes, live.views, live.subscriptions, live.evaluations, live.changes,
        ] { self.write(count: number) }
    }
}

extension ByteReader {
    package mutating func explanation() throws(DecodingFailure) -> Explanation {
        let revision = try self.revision("revision")
        let request = try self.explanationParts()
        guard let routing = Explanation.Routing(rawValue: try self.byte("routing")) else {
            throw DecodingFailure(.unsupported, "routing")
        }
        let route = try self.explanationText("route")
        guard let reading = Explanation.Reading(rawValue: try self.byte("reading")) else {
            throw DecodingFailure(.unsupported, "reading")
        }
        return Explanation(
            revision: revision,
            request: request,
            routing: routing,
            route: route,
            reading: reading,
            candidates: try self.explanationText("candidates"),
            paths: try self.explanationPaths(),
            subtrees: try self.explanationSubtrees(),
            isInJournal: try self.byte("flags") & 1 != 0,
            live: try self.explanationLive()
        )
    }

    private mutating func explanationText(_ field: StaticString) throws(DecodingFailure) -> String {
        try self.string(field, max: Limits.explanationTextBytesMax)
    }

    private mutating func explanationParts() throws(DecodingFailure) -> [Explanation.Part] {
        var parts: [Explanation.Part] = []
        for _ in 0..<(try self.count("parts", max: Limits.explanationListMax, bytesEach: 2)) {
            let name = try self.explanationText("part's name")
            parts.append(.init(name, try self.explanationText("part")))
        }
        return parts
    }

    private mutating func explanationPaths() throws(DecodingFailure) -> [Explanation.Path] {
        var paths: [Explanation.Path] = []
        for _ in 0..<(try self.count("paths", max: Limits.explanationListMax, bytesEach: 2)) {
            var path = Explanation.Path(try self.explanationText("path"), tables: [])
            for _ in 0..<(try self.count("tables", max: Limits.explanationListMax)) {
                path.tables.append(try self.explanationText("table"))
            }
            paths.append(path)
        }
        return paths
    }

    private mutating func explanationSubtrees() throws(DecodingFailure) -> [Explanation.Subtree] {
        var subtrees: [Explanation.Subtree] = []
        for _ in 0..<(try self.count("sub-trees", max: Limits.explanationListMax, bytesEach: 2)) {
            let text = try self.explanationText("sub-tree")
            let objects = try self.index("sub-tree's objects")
            subtrees.append(.init(text, objects: objects == 0 ? nil : objects - 1))
        }
        return subtrees
    }

    private mutating func explanationLive() throws(DecodingFailure) -> Explanation.Live? {
        switch try self.byte("live result") {
        case 0: return nil
        case 1:
            return Explanation.Live(
                rows: try self.index("rows"),
                sections: try self.index("sections"),
                bytes: try self.index("bytes"),
                views: try self.index("views"),
                subscriptions: try self.index("subscriptions"),
                evaluations: try self.index("evaluations"),
                changes: try self.index("changes")
            )
        default: throw DecodingFailure(.unsupported, "live result")
        }
    }
}
