import NestDocuments
import NestModel

extension Receipt {
    /// Prints what `verb` has stored, as text or as JSON. `repairs`: what a lenient reader has repaired.
    func print(
        _ verb: String,
        nothing: String,
        warnings: [String],
        repairs: RepairCounts? = nil,
        inJSON: Bool,
        _ output: inout Output
    ) throws {
        if inJSON {
            try output.line(
                .object { json in
                    json.field("revision", self.revision)
                    json.field("changed", self.isChanged)
                    json.field("replayed", self.isReplayed)
                    json.key("first")
                    if let first = self.firstInserted { json.integer(first.rawValue) } else { json.null() }
                    json.field("count", self.insertedCount)
                    json.field("name", self.name)
                    json.key("warnings")
                    json.array(warnings) { $0.string($1) }
                    json.field(repairs)
                }
            )
        } else if let first = self.firstInserted, self.insertedCount > 0 {
            let last = first.rawValue + Int64(self.insertedCount) - 1
            let ids = self.insertedCount == 1 ? "id \(first)" : "ids \(first) to \(last)"
            try output.line("\(verb) \(counted(self.insertedCount, "item")), \(ids), revision \(self.revision)")
        } else {
            try output.line("\(verb) nothing: \(nothing)")
        }
    }
}

extension JSONWriter {
    /// Writes what a lenient reader has repaired, by kind; nothing for another reader.
    mutating func field(_ repairs: RepairCounts?) {
        guard let repairs else { return }
        self.key("repairs")
        self.object { json in
            for kind in RepairKind.allCases { json.field(kind.rawValue, repairs[kind]) }
        }
    }
}
