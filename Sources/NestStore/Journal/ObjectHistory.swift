import NestModel
import NestProtocol
import NestSchema

/// The transactions that changed one object. The row of an object has the revision of its last change, and each change
/// in the journal has that of the one before it, so only transactions of this object are read.
extension Store {
    /// Returns the headers of those before a revision (0: from the newest on), newest first, at most `limit`, and how
    /// many parts of the journal were read, at most `partsMax`. Refuses if there is no such object. The changes end at
    /// its insertion, also if an undo restored it, and at the journal's oldest revision. If the transaction `before`
    /// changed the object, they are those since the insertion that it follows.
    package func headers(
        changing id: ObjectID,
        before: Revision,
        limit: Int,
        partsMax: Int,
        where isWanted: (JournalHeader) -> Bool
    ) throws(StoreError) -> (headers: [JournalHeader], partCount: Int) {
        guard var next = try self.objects.object(id)?.row.revision else { throw ObjectGraph.notFound(id) }
        var partsLeft = partsMax
        var headers: [JournalHeader] = []
        // For the next page, `before` is one of the object's own changes.
        if before != Revision(0), before <= next, let change = try self.change(of: id, in: before, &partsLeft) {
            next = change.revisionBefore
        }
        while next > self.oldestBase, headers.count < limit, partsLeft > 0 {
            guard let past = try self.pastTransaction(next) else { break }
            partsLeft -= 1
            if before == Revision(0) || next < before, isWanted(past.header) { headers.append(past.header) }
            // In a very large transaction the change may not be found: then nothing is known of those before it.
            guard let change = try past.change(of: id, &partsLeft), change.revisionBefore < next else { break }
            next = change.revisionBefore
        }
        return (headers, partsMax - partsLeft)
    }
}
