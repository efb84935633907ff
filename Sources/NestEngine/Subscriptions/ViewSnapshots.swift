import NestProtocol
import NestLiveQuery
import NestModel
import NestOrder
import NestStore

/// Encodes whole views, once in a batch for all subscribers.
final class ViewSnapshots {
    private let store: Store
    private let live: LiveResults
    private let admission: Admission
    private let rowsMax: Int
    /// Views that hold an encoded snapshot until the batch ends.
    private var encoded: [View] = []

    init(_ store: Store, _ live: LiveResults, _ admission: Admission, rowsMax: Int) {
        self.store = store
        self.live = live
        self.admission = admission
        self.rowsMax = rowsMax
    }

    /// Whether a view has too many rows to be encoded between two commits.
    func isLarge(_ view: View) -> Bool {
        guard view.range.count > self.rowsMax else { return false }
        // The batch may have encoded it for another connection.
        return view.snapshot?.header.revision != self.store.head
    }

    /// Returns the snapshot of a view at the head.
    func snapshot(_ view: View) throws(StoreError) -> (
        header: SnapshotHeader, rows: [SharedBytes], totals: [UInt8]?
    ) {
        if let snapshot = view.snapshot, snapshot.header.revision == self.store.head { return snapshot }
        guard let entry = self.live[view.key.result] else { preconditionFailure("a view has a result") }
        let result = entry.result
        self.admission.work += view.range.count
        let totals = try ViewTotals.all(view, result, self.store.head)
        let (sections, read) = try self.store.objects.encodedRows(
            result.source,
            result.tree,
            view.range,
            slots: view.slots,
            onBody: Self.boundedBytes(),
            columns: { result.member($0)?.columns ?? [] }
        )
        // The rows are read from the store, the digest is that of the live result: they must agree.
        precondition(
            read.count == view.range.count && read.digest == result.tree.digest(of: view.range),
            "a live result differs from the store at revision \(self.store.head)"
        )
        let position = result.tree.position(of: view.range, anchor: view.anchor?.id)
        let header = SnapshotHeader(position, sections, read, self.store.head)
        let snapshot = (header, read.bodies, totals)
        view.snapshot = snapshot
        self.encoded.append(view)
        return snapshot
    }

    func endBatch() {
        for view in self.encoded { view.snapshot = nil }
        self.encoded = []
    }

    /// Returns a function that counts the bytes of bodies, and throws `postponed(.snapshotTooLarge)` when they are too
    /// many.
    static func boundedBytes() -> (SharedBytes) throws(StoreError) -> Void {
        var bytes = 0
        return { (body) throws(StoreError) in
            bytes += body.bytes.count
            if bytes > Self.bytesMax { throw StoreError.postponed(.snapshotTooLarge) }
        }
    }

    /// The maximum bytes of an answer that is encoded between two commits.
    private static let bytesMax = 2 * Limits.chunkBytes
}
