import NestModel

/// Finds the rows that a window around an object may follow after a batch or a change of the view.
///
/// While the anchor is shown the window follows it. If it has left, the window follows the row that now has its
/// position: one between the nearest rows above and below that did not move, or the last row. Several may be right,
/// because a row that moved there may have come before or after. Without any rows the window follows none, and then
/// the first row that appears.
struct NaiveOutlineAnchor {
    let before: [ObjectID]
    let after: [ObjectID]
    /// Whether an object or one above it has got another parent or place.
    let isMoved: (ObjectID) -> Bool

    func next(_ candidates: Set<ObjectID?>) -> Set<ObjectID?> {
        candidates.reduce(into: []) { $0.formUnion(self.next($1)) }
    }

    private func next(_ anchor: ObjectID?) -> Set<ObjectID?> {
        guard let last = self.after.last else { return [nil] }
        guard let anchor else { return [self.after[0]] }
        if self.after.contains(anchor) { return [anchor] }
        guard let index = self.before.firstIndex(of: anchor) else { return Set(self.after) }
        let indexes = Dictionary(uniqueKeysWithValues: zip(self.after, self.after.indices))
        let stationary = { (id: ObjectID) in self.isMoved(id) ? nil : indexes[id] }
        let above = self.before[..<index].reversed().lazy.compactMap(stationary).first ?? -1
        guard let below = self.before[(index + 1)...].lazy.compactMap(stationary).first else {
            return above + 1 < self.after.count ? Set(self.after[(above + 1)...]) : [last]
        }
        return Set(self.after[(above + 1)...below])
    }
}
