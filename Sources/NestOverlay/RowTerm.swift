import NestModel
import NestOrder

/// One key of an order by values, and how its values compare.
struct RowTerm {
    let path: PropertyPath
    private let term: OrderTerm

    /// Returns `nil` for the order of a list.
    init?(_ term: OrderingTerm, of entity: EntityDescription, in model: ManagedObjectModel) {
        guard case .path(let path) = term.key else { return nil }
        self.path = path
        // Counts have no attribute. They are integers.
        let type = path.attributeType(of: entity, in: model) ?? .integer
        self.term = OrderTerm(
            OrderTerm.Form(type, isOptional: true, isAlone: false),
            isAscending: term.isAscending,
            folding: term.folding,
            isDate: type == .date
        )
    }

    /// Compares two values of the path: below 0, 0, or above 0. Null is below every value.
    func compare(_ a: AttributeValue, _ b: AttributeValue) -> Int {
        let order: Int
        switch (a, b) {
        case (.null, .null): return 0
        case (.null, _): order = -1
        case (_, .null): order = 1
        case (.string(let a), .string(let b)) where self.term.form == .decimal:
            order = DecimalText.isLess(a, b) ? -1 : DecimalText.isLess(b, a) ? 1 : 0
        // Values of one property have one type, so they can be compared.
        default: order = a.compared(with: b, folding: self.term.folding) ?? 0
        }
        return self.term.isAscending ? order : -order
    }

    /// Returns the key of the section to which a value of the path belongs.
    func section(_ function: SectionKey.Function, of value: AttributeValue) -> AttributeValue {
        var writer = SortKeyWriter()
        writer.write(value, self.term)
        let sectioning = Sectioning(function: function, term: self.term, isAlone: true)
        return sectioning.name(of: sectioning.start(of: writer.take()))
    }
}

/// The place of a row in an order by values.
struct RowKey {
    let values: [AttributeValue]
    let id: ObjectID

    static func isBefore(_ a: RowKey, _ b: RowKey, _ terms: [RowTerm]) -> Bool {
        for (index, term) in terms.enumerated() {
            let order = term.compare(a.values[index], b.values[index])
            if order != 0 { return order < 0 }
        }
        return a.id < b.id
    }
}
