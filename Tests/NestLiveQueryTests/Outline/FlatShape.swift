import NestLiveQuery
import NestModel

/// Rows of outlines with a known shape. The ids are 1, 2, ...
enum FlatShape {
    private static func rows(_ count: Int, depth: (Int) -> Int) -> [FlatTree.Entry] {
        (0..<count).map {
            FlatTree.Entry(id: ObjectID(Int64($0 + 1)), depth: depth($0), childCount: $0 % 5, isExpanded: $0 % 3 == 0)
        }
    }

    /// Each row is a child of the one before.
    static func chain(_ count: Int) -> [FlatTree.Entry] { Self.rows(count) { $0 } }

    /// All rows are siblings.
    static func list(_ count: Int) -> [FlatTree.Entry] { Self.rows(count) { _ in 0 } }

    /// Chains of seven rows.
    static func comb(_ count: Int) -> [FlatTree.Entry] { Self.rows(count) { $0 % 7 } }
}
