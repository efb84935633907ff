import NestDocuments
import NestModel

/// The output of a receipt as JSON.
extension Receipt {
    var json: JSONWriter {
        .object { self.writeFields(into: &$0) }
    }

    func writeFields(into json: inout JSONWriter) {
        json.field("revision", self.revision)
        json.field("changed", self.isChanged)
        json.field("replayed", self.isReplayed)
        json.key("ids")
        // The ids of a large import are consecutive and are not listed.
        json.array(self.insertedCount <= Limits.mutationsPerTransactionMax ? self.insertedIDs : []) {
            $0.integer($1.rawValue)
        }
        json.field("count", self.insertedCount)
        json.field("name", self.name)
    }
}
