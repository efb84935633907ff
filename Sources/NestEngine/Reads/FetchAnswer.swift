import NestProtocol
import NestLiveQuery
import NestModel
import NestOrder
import NestStore

/// The answer to a fetch whose rows are known: the encoded rows of its window.
struct FetchAnswer {
    let header: SnapshotHeader
    let bodies: [SharedBytes]
    let totals: [UInt8]?
    let rowCount: Int

    /// `objects` reads the store at `revision`, which is also the revision of `state`. Returns `nil` if the answer has
    /// more than `rowsMax` rows, or more bytes than are encoded between two commits.
    init?(
        _ resolved: RequestResolver.Resolved,
        _ state: LiveState,
        _ objects: ObjectReader,
        _ revision: Revision,
        rowsMax: Int
    ) throws(StoreError) {
        let anchor = try View.anchor(resolved.window, state.tree)
        let range = View.range(resolved.window, anchor, state.tree)
        guard range.count <= rowsMax else { return nil }
        self.totals = try ViewTotals.all(resolved.source, state, range, revision)
        do throws(StoreError) {
            let (sections, rows) = try objects.encodedRows(
                resolved.source,
                state.tree,
                range,
                slots: resolved.slots,
                onBody: ViewSnapshots.boundedBytes(),
                columns: { state.members[$0]?.columns ?? [] }
            )
            self.header = SnapshotHeader(state.tree.position(of: range, anchor: anchor?.id), sections, rows, revision)
            self.bodies = rows.bodies
            self.rowCount = range.count
        } catch StoreError.postponed(.snapshotTooLarge) {
            return nil
        }
    }

    var reply: EngineReply { .snapshot(self.header, rows: self.bodies, totals: self.totals) }
}

extension SnapshotHeader {
    init(
        _ position: WindowPosition,
        _ sections: [OrderStatisticTree.SectionRows],
        _ rows: EncodedRows,
        _ revision: Revision
    ) {
        self.init(
            reason: .first,
            revision: revision,
            digest: rows.digest.value,
            window: position,
            sections: sections.map { .init(key: $0.key, rowCount: $0.rows.count) }
        )
    }
}

extension Confinement {
    /// Returns the visible part of an object. An object outside the confinement is refused like one that does not
    /// exist, and `read` is not called for it.
    func detail(of object: ObjectID, _ read: () throws(StoreError) -> ObjectDetail?) throws(StoreError) -> ObjectDetail
    {
        guard try self.contains(object), let detail = try read() else { throw StoreError.noObject(object) }
        return self.visible(detail)
    }
}

extension StoreError {
    static func noObject(_ id: ObjectID) -> StoreError {
        .refused(.notFound, "there is no object with id \(id)", object: id)
    }
}
