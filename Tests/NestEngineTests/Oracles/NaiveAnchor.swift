import NestModel
import NestSchema

/// Finds the object that a window around an object follows after a batch, from the rows before and after the batch.
///
/// - While the anchor is a row, the window follows it.
/// - If the anchor has left, the window follows the row that now has the position of the anchor's old values. In a
///   list, whose order is not a value, only the nearest unchanged rows above and below are certain, so several rows may
///   be right.
/// - If there is no such row, the window follows the last row.
/// - Without any rows it follows none, and then the first row that appears.
struct NaiveAnchor {
    let request: ObjectFetchRequest
    let before: NaiveResults
    let after: NaiveResults

    func next(_ candidates: Set<ObjectID?>) -> Set<ObjectID?> {
        let rows = self.after.order(self.request)
        return candidates.reduce(into: []) { $0.formUnion(self.next($1, rows)) }
    }

    private func next(_ anchor: ObjectID?, _ rows: [ObjectID]) -> Set<ObjectID?> {
        guard let last = rows.last else { return [nil] }
        guard let anchor else { return [rows[0]] }
        if rows.contains(anchor) { return [anchor] }
        if self.request.isOrderOfList(self.before) || self.request.isOrderOfList(self.after) {
            return Set(self.between(anchor, rows).map { $0 })
        }
        if self.request.sort.isEmpty { return [rows.first { $0 > anchor } ?? last] }
        var keys = Dictionary(uniqueKeysWithValues: rows.map { ($0, self.after.sortValues(self.request, of: $0)) })
        keys[anchor] = self.before.sortValues(self.request, of: anchor)
        return [rows.first { self.after.precedes(anchor, $0, keys, self.request) } ?? last]
    }

    /// Returns the rows of a list that may have taken the position of the anchor.
    private func between(_ anchor: ObjectID, _ rows: [ObjectID]) -> [ObjectID] {
        let old = self.before.order(self.request)
        guard let index = old.firstIndex(of: anchor) else { return rows }
        let there = Set(rows)
        let isStationary = { (id: ObjectID) in there.contains(id) && !self.isChanged(id) }
        let above = old[..<index].last(where: isStationary).flatMap { rows.firstIndex(of: $0) } ?? -1
        guard let below = old[(index + 1)...].first(where: isStationary).flatMap({ rows.firstIndex(of: $0) }) else {
            return above + 1 < rows.count ? Array(rows[(above + 1)...]) : [rows[rows.count - 1]]
        }
        return Array(rows[(above + 1)...below])
    }

    private func isChanged(_ id: ObjectID) -> Bool {
        self.before.rows[id]?.revision != self.after.rows[id]?.revision
            || self.before.pairRevisions(of: id) != self.after.pairRevisions(of: id)
    }
}

extension ObjectFetchRequest {
    /// Whether the rows are in the order of a list.
    func isOrderOfList(_ naive: NaiveResults) -> Bool {
        if self.sort == [.order] { return true }
        guard self.sort.isEmpty, let source else { return false }
        return naive.entity(of: source.object)?.relationship(source.relationship)?.isOrdered ?? false
    }
}

extension NaiveResults {
    /// Returns the ids of a request's rows in order, without regard to its window.
    func order(_ request: ObjectFetchRequest) -> [ObjectID] {
        self.sections(request, []).flatMap { $0.rows.map(\.id) }
    }

    /// Returns the pairs of many-to-many relationships that contain an object, each with the revision of its last
    /// change.
    func pairRevisions(of id: ObjectID) -> [ObjectID: Revision] {
        self.rows.filter {
            self.model.entity($0.value.entity) == nil && $0.value.values.decoded.contains(.reference(id))
        }
        .mapValues(\.revision)
    }
}
