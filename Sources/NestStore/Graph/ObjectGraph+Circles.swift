import NestModel
import NestSchema

/// Prevents cycles in relationships of a table to itself.
extension ObjectGraph {
    /// The number of rows that one walk reads before the other continues.
    private static let circleTurnRows = 64

    /// Refuses to put an object under itself or under an object inside it.
    ///
    /// Walks up from the owner and down from the object, in turns, until one of the walks ends. Rows read: at most
    /// about twice the depth of the owner, and at most about twice the objects inside the moved one.
    func refuseCycle(_ id: ObjectID, under owner: ObjectID, _ slot: Int, _ table: EntityTable) throws(StoreError) {
        guard self.isHierarchy(table, slot) else { return }
        let refusal = StoreError.refused(
            .cycle,
            "the object \(id) cannot be put under itself or under an object inside it",
            object: id
        )
        if owner == id { throw refusal }
        guard try table.hasObject(ofOwner: id, slot: slot) else { return }
        var above = owner
        var inside: InsideWalk?
        while true {
            for _ in 0..<Self.circleTurnRows {
                guard let next = try table.row(above)?.values.reference(slot) else { return }
                if next == id { throw refusal }
                above = next
            }
            var walk = inside ?? InsideWalk(id, table, slot)
            switch try walk.finds(owner, rowsMax: Self.circleTurnRows) {
            case true?: throw refusal
            case false?: return
            case nil: inside = walk
            }
        }
    }
}

/// A walk through everything inside an object, a few rows at a time. Keeps the objects whose children it has not read
/// yet.
private struct InsideWalk {
    private let pages: PageReader
    private var unread: [ObjectID]
    /// The object whose rows are being read, and the position of the last one read.
    private var page: (owner: ObjectID, position: Int64?)?

    init(_ id: ObjectID, _ table: EntityTable, _ slot: Int) {
        self.pages = table.pages(slot: slot, projection: [])
        self.unread = [id]
    }

    /// Whether an object is inside; `nil` if that is not known after `rowsMax` rows.
    mutating func finds(_ id: ObjectID, rowsMax: Int) throws(StoreError) -> Bool? {
        var rows = 0
        while rows < rowsMax {
            guard let next = self.page ?? self.unread.popLast().map({ (owner: $0, position: nil) }) else {
                return false
            }
            let limit = rowsMax - rows
            let page = try self.pages.page(of: next.owner, after: next.position, limit: limit)
            if page.contains(where: { $0.id == id }) { return true }
            self.unread += page.map(\.id)
            self.page = page.count == limit ? page.last.map { (next.owner, $0.position) } : nil
            rows += page.count + 1
        }
        return nil
    }
}
