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
        // A transaction inserts at most `Limits.mutationsPerTransactionMax` objects. Imports print their own receipts.
        json.key("ids")
        json.array(self.insertedIDs) { $0.integer($1.rawValue) }
        json.field("count", self.insertedCount)
        json.field("name", self.name)
    }
}
