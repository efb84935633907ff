/// The kinds of faults that a lenient reader repairs in XML.
package enum RepairKind: String, CaseIterable, Sendable {
    case ampersands
    case lessThanSigns
    case semicolons
    case entities
    case spaces

    /// What was repaired, and how.
    var sentence: String {
        switch self {
        case .ampersands: "repaired: & that begins no reference, read as &amp;"
        case .lessThanSigns: "repaired: < that begins no tag, read as &lt;"
        case .semicolons: "repaired: references without their ;"
        case .entities: "repaired: HTML's references such as &nbsp;, read as their characters"
        case .spaces: "repaired: white space before the XML declaration, removed"
        }
    }
}

/// How often a lenient reader has repaired each kind of fault.
package struct RepairCounts: Equatable, Sendable {
    private var counts = [Int](repeating: 0, count: RepairKind.allCases.count)

    package init() {}

    package subscript(kind: RepairKind) -> Int {
        get { self.counts[Self.index(kind)] }
        set { self.counts[Self.index(kind)] = newValue }
    }

    /// One sentence for each kind, with its count.
    package var warnings: [String] {
        RepairKind.allCases.filter { self[$0] > 0 }.map { "\($0.sentence): \(self[$0])" }
    }

    private static func index(_ kind: RepairKind) -> Int {
        switch kind {
        case .ampersands: 0
        case .lessThanSigns: 1
        case .semicolons: 2
        case .entities: 3
        case .spaces: 4
        }
    }
}
