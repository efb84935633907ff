import NestModel
import NestSchema

/// Which object a window around one follows after a batch, found in the rows before and after it.
///
/// The same as long as it is a row. When it has left: the row that is now where it would be by its values of before. In an
/// order that is nobody's value, a list's, what is certain is between which rows that nobody touched: there may be several
/// that are right. Without such a row the last one; without rows none, and the first row that comes.
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

    /// Rows that may have come into the place of one of a list.
    private func between(_ anchor: ObjectID, _ rows: [ObjectID]) -> [ObjectID] {
        let old = self.before.order(self.request)
        guard let index = old.firstIndex(of: anchor) else { return rows }
        let there = Set(rows)
        let isStationary = { (id: ObjectID) in there.contains(id) && !self.isTouched(id) }
        let above = old[..<index].last(where: isStationary).flatMap { rows.firstIndex(of: $0) } ?? -1
        guard let below = old[(index + 1)...].first(where: isStationary).flatMap({ rows.firstIndex(of: $0) }) else {
            return above + 1 < rows.count ? Array(rows[(above + 1)...]) : [rows[rows.count - 1]]
        }
        return Array(rows[(above + 1)...below])
    }

    private func isTouched(_ id: ObjectID) -> Bool {
        self.before.rows[id]?.revision != self.after.rows[id]?.revision
            || self.before.pairRevisions(of: id) != self.after.pairRevisions(of: id)
    }
}

extension ObjectFetchRequest {
    /// The rows are in an order that somebody gave them.
    func isOrderOfList(_ naive: NaiveResults) -> Bool {
        if self.sort == [.order] { return true }
        guard self.sort.isEmpty, let source else { return false }
        return naive.entity(of: source.object)?.relationship(source.relationship)?.isOrdered ?? false
    }
}

extension NaiveResults {
    /// The ids of the rows of a request, window or not, in order.
    func order(_ request: ObjectFetchRequest) -> [ObjectID] {
        self.sections(request, []).flatMap { $0.rows.map(\.id) }
    }

    /// The pairs of relationships that are to-many on both sides an object is in, and when each was touched last.
    func pairRevisions(of id: ObjectID) -> [ObjectID: Revision] {
        self.rows.filter { self.model.entity($0.value.entity) == nil && $0.value.values.contains(.reference(id)) }
            .mapValues(\.revision)
    }
}
