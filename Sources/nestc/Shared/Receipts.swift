import NestDocuments
import NestModel

/// A receipt for programs.
extension Receipt {
    /// A write's answer as JSON.
    var json: JSONWriter {
        .object { self.writeFields(into: &$0) }
    }

    func writeFields(into json: inout JSONWriter) {
        json.field("revision", self.revision)
        json.field("changed", self.isChanged)
        json.field("replayed", self.isReplayed)
        json.key("ids")
        // A large import gave consecutive ids; their first and count say as much.
        json.array(self.insertedCount <= Limits.mutationsPerTransactionMax ? self.insertedIDs : []) {
            $0.integer($1.rawValue)
        }
        json.field("count", self.insertedCount)
        json.field("name", self.name)
    }
}
