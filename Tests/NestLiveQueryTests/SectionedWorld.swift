import NestLiveQuery
import NestModel
import NestOrder
import NestSchema
import NestTestSupport

/// A random order with sections, with values that are often equal, and a naive implementation of both.
struct SectionedWorld {
    let terms: [OrderTerm]
    let function: SectionKey.Function
    let source: ResultSource
    private let pools: [[AttributeValue]]

    init(_ random: inout SeededRandom) {
        let function = SectionKey.Function.allCases.randomElement(using: &random)!
        let count = random.oneIn(2) ? 1 : 2 + random.below(2)
        var terms: [OrderTerm] = []
        for index in 0..<count {
            var forms: [OrderTerm.Form] = [.text, .text, .integer, .wideInteger, .double, .boolean, .uuid]
            if index > 0 { forms += [.decimal, .data] }
            var term = OrderTerm(random.pick(forms), isAscending: random.oneIn(2))
            if index == 0, function == .firstCharacter { term.form = .text }
            if index == 0, function.rawValue > 2 { term.form = random.oneIn(2) ? .integer : .wideInteger }
            if term.form == .text, random.oneIn(2) { term.folding = TextFolding(rawValue: UInt8(random.below(4))) }
            term.isDate =
                [.integer, .wideInteger].contains(term.form) && (index == 0 && function.rawValue > 2 || random.oneIn(2))
            terms.append(term)
        }
        self.function = function
        self.terms = terms
        self.pools = terms.map { term in (0..<(3 + random.below(30))).map { _ in Self.value(term, &random) } }
        var source = ResultSource(
            entity: EntityNumber(1),
            table: EntityNumber(1),
            kinds: [EntityNumber(1)],
            membership: .all,
            sort: terms.enumerated().map { SortTerm(.slot($0), $1) }
        )
        source.section = function
        self.source = source
    }

    private static func value(_ term: OrderTerm, _ random: inout SeededRandom) -> AttributeValue {
        if term.form != .wideInteger, random.oneIn(8) { return .null }
        switch term.form {
        case .text:
            let letters = [
                "\u{1}", "a", "A", "b", "\u{c1}", "e\u{301}", "\u{df}", "\u{130}", "\u{ffff}", "\u{1f600}",
                "\u{10ffff}",
            ]
            let stem = random.pick([
                "", "", "", "sevenby", "eight by", "of sixteen bytes", "so long that it is in the rest ",
            ])
            return .string(stem + (0..<random.below(4)).map { _ in random.pick(letters) }.joined())
        case .integer, .wideInteger:
            let day: Int64 = 86_400_000_000
            let edges = [0, -1, 1, .min, .max, .min + day, .max - day, day, day - 1, -day, 59 * day, 60 * day - 1]
            let number =
                random.oneIn(2)
                ? random.pick(edges) : random.oneIn(2) ? random.integer() : Int64(random.below(900)) * day
            return term.isDate ? .date(number) : .integer(number)
        case .double: return .double(random.pick([0, 1, -1, 0.5, .infinity, -.infinity, 1e300, -1e-300]))
        case .boolean: return .boolean(random.oneIn(2))
        case .uuid: return .uuid(Identifier128(high: random.oneIn(2) ? 1 : random.next(), low: UInt64(random.below(3))))
        case .decimal: return .string(random.decimalText())
        case .data: return .data((0..<random.below(4)).map { _ in random.pick([0, 1, 255]) })
        }
    }

    func values(_ random: inout SeededRandom) -> [AttributeValue] { self.pools.map { random.pick($0) } }

    func row(_ values: [AttributeValue]) -> ObjectRow {
        ObjectRow(entity: EntityNumber(1), revision: Revision(1), values: values, places: [])
    }

    func key(_ values: [AttributeValue], _ id: ObjectID) -> RowKey {
        var writer = SortKeyWriter()
        return RowKey(writer.key(self.source.sort, self.row(values), []), id: id)
    }

    // MARK: Naive implementation

    typealias Item = (id: ObjectID, values: [AttributeValue])

    func precedes(_ a: Item, _ b: Item) -> Bool {
        for (index, term) in self.terms.enumerated() {
            if Self.isBelow(a.values[index], b.values[index], term) { return term.isAscending }
            if Self.isBelow(b.values[index], a.values[index], term) { return !term.isAscending }
        }
        return a.id < b.id
    }

    private static func isBelow(_ a: AttributeValue, _ b: AttributeValue, _ term: OrderTerm) -> Bool {
        switch (a, b) {
        case (.null, _): !b.isNull
        case (_, .null): false
        case (.integer(let a), .integer(let b)), (.date(let a), .date(let b)): a < b
        case (.double(let a), .double(let b)): a < b
        case (.boolean(let a), .boolean(let b)): !a && b
        case (.string(let a), .string(let b)):
            term.form == .decimal
                ? DecimalText.isLess(a, b)
                : term.folding.fold(a).utf8.lexicographicallyPrecedes(term.folding.fold(b).utf8)
        case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b)
        case (.uuid(let a), .uuid(let b)): a < b
        default: false
        }
    }

    func name(_ values: [AttributeValue]) -> AttributeValue {
        NaiveSections.name(self.function, self.terms[0].folding, values[0])
    }

    /// Returns the sections of rows. Only their names distinguish sections.
    func sections(_ items: [Item]) -> [ResultsSection] {
        var sections: [ResultsSection] = []
        for item in items.sorted(by: self.precedes) {
            let name = self.name(item.values)
            if sections.last?.key != name { sections.append(ResultsSection(key: name, rows: [])) }
            sections[sections.count - 1].rows.append(Row(id: item.id, values: []))
        }
        return sections
    }
}
