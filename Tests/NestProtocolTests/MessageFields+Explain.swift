import NestModel
import NestTestSupport
import NestProtocol

extension Explain: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["request": JSONValue(self.request)] }
}

extension ParsePredicate: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "entity": .integer(Int64(self.entity.rawValue)), "text": .string(self.text), "now": .integer(self.now),
            "zone": .string(self.zone),
        ]
    }
}

extension PredicateMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["predicate": JSONValue(list: self.predicate.nodes.map { JSONValue($0) })]
    }
}

extension ExplanationMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        let explanation = self.explanation
        return [
            "revision": JSONValue(explanation.revision),
            "request": JSONValue(
                list: explanation.request.map { ["name": .string($0.name), "text": .string($0.text)] }
            ),
            "routing": .string(explanation.routing.name), "route": .string(explanation.route),
            "reading": .string(explanation.reading.name), "candidates": .string(explanation.candidates),
            "paths": JSONValue(
                list: explanation.paths.map { path in
                    ["text": .string(path.text), "tables": JSONValue(list: path.tables.map { .string($0) })]
                }
            ),
            "subtrees": JSONValue(
                list: explanation.subtrees.map { subtree in
                    ["text": .string(subtree.text), "objects": subtree.objects.map { JSONValue(count: $0) } ?? .null]
                }
            ),
            "isInJournal": .bool(explanation.isInJournal), "live": JSONValue(explanation.live),
        ]
    }
}

extension JSONValue {
    fileprivate init(_ live: Explanation.Live?) {
        guard let live else {
            self = .null
            return
        }
        self = [
            "rows": JSONValue(count: live.rows), "sections": JSONValue(count: live.sections),
            "bytes": JSONValue(count: live.bytes), "views": JSONValue(count: live.views),
            "subscriptions": JSONValue(count: live.subscriptions), "evaluations": JSONValue(count: live.evaluations),
            "changes": JSONValue(count: live.changes),
        ]
    }
}
