/// Distributes the width of a terminal among the columns of a table.
enum ColumnWidths {
    /// The spaces between two columns.
    static let gap = 2
    /// The least width of a column that is cut.
    private static let least = 4

    /// Returns the widths of the columns from left to right. If the columns do not fit, the widest are cut first, the
    /// first column (the id) last, and columns for which no room is left are dropped from the right. Then there is room
    /// for `…` after the others.
    static func fit(_ natural: [Int], in room: Int) -> [Int] {
        guard let first = natural.first else { return [] }
        var count = natural.count
        while count > 1 {
            let others = natural[1..<count]
            let room = count < natural.count ? room - Self.gap - 1 : room
            let left = room - first - Self.gap * (count - 1)
            if others.reduce(0, { $0 + min($1, Self.least) }) <= left {
                let most = Self.most(Array(others), left)
                var widths = [first] + others.map { min($0, most) }
                // What the division of the room leaves over.
                var spare = room - widths.reduce(0, +) - Self.gap * (count - 1)
                for column in 1..<count where spare > 0 && widths[column] < natural[column] {
                    widths[column] += 1
                    spare -= 1
                }
                return widths
            }
            count -= 1
        }
        return [max(min(first, room), 1)]
    }

    /// Returns the greatest width to which columns can be cut so that together they take at most `room`.
    private static func most(_ natural: [Int], _ room: Int) -> Int {
        var (room, left) = (room, natural.count)
        for width in natural.sorted() {
            if width * left > room { return room / left }
            room -= width
            left -= 1
        }
        return natural.max() ?? 0
    }
}
