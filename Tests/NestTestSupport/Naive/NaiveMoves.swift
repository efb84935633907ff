import NestModel

/// The minimum number of moves of a diff, found by trying all subsets.
package enum NaiveMoves {
    package typealias Placed = (section: AttributeValue, id: ObjectID)

    package static func rows(_ sections: [ResultsSection]) -> [Placed] {
        sections.flatMap { section in section.rows.map { (section.key, $0.id) } }
    }

    /// Returns the minimum number of rows to move so that all other rows, including all rows that were not placed, keep
    /// their order and sections. Returns `nil` if there are too many combinations.
    package static func fewest(from old: [Placed], to new: [Placed], placed: Set<ObjectID>, triesMax: Int = 10) -> Int?
    {
        let before = Dictionary(uniqueKeysWithValues: old.map { ($0.id, $0.section) })
        let after = Dictionary(uniqueKeysWithValues: new.map { ($0.id, $0.section) })
        let common = old.map(\.id).filter { after[$0] != nil }
        let mustMove = Set(common.filter { placed.contains($0) && before[$0] != after[$0] })
        let free = common.filter { placed.contains($0) && !mustMove.contains($0) }
        guard free.count <= triesMax else { return nil }
        let (oldIDs, newIDs) = (common, new.map(\.id).filter { before[$0] != nil })
        var fewest = free.count
        for mask in 0..<(1 << free.count) {
            let moving = mustMove.union(free.indices.filter { mask >> $0 & 1 == 0 }.map { free[$0] })
            guard moving.count - mustMove.count < fewest else { continue }
            if oldIDs.filter({ !moving.contains($0) }) == newIDs.filter({ !moving.contains($0) }) {
                fewest = moving.count - mustMove.count
            }
        }
        return mustMove.count + fewest
    }
}
