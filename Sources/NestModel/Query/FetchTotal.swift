/// A value over all rows of a result, and over the rows of each of its sections.
public enum FetchTotal: Hashable, Sendable {
    /// The number of rows.
    case count
    /// A function of an attribute of the rows or of objects behind their to-one relationships (`user.age`), or of a
    /// count or function of related objects (`phones.@count`).
    case function(AggregateFunction, PropertyPath)

    /// The path whose values it reads.
    public var path: PropertyPath? {
        switch self {
        case .count: nil
        case .function(_, let path): path
        }
    }
}

extension [FetchTotal] {
    /// Reads `count, sum(minutes), max(user.age)`, with the names of an entity of a model.
    public init(
        _ text: String,
        of entity: EntityDescription,
        in model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        self = []
        for item in TextPart(text[...]).split(",") {
            guard self.count < Limits.totalsMax else {
                throw PredicateSyntaxError(
                    column: item.column,
                    message: "a request has at most \(Limits.totalsMax) totals"
                )
            }
            self.append(try FetchTotal(item, entity, model))
        }
    }

    /// Returns the text of a request, `count,sum(minutes)`. Reading the text returns the same totals.
    public func text(of entity: EntityDescription, in model: ManagedObjectModel) -> String {
        self.map { $0.text(of: entity, in: model) }.joined(separator: ",")
    }
}

extension FetchTotal {
    fileprivate init(
        _ item: TextPart,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        if item.text == "count" {
            self = .count
            return
        }
        let open = item.text.firstIndex(of: "(") ?? item.text.endIndex
        guard let function = AggregateFunction(name: String(item.text[..<open])), item.text.last == ")" else {
            let names = AggregateFunction.allCases.map { "\($0.name)(…)" }.joined(separator: ", ")
            throw PredicateSyntaxError(column: item.column, message: "a total is count or one of \(names)")
        }
        let inner = item.text[item.text.index(after: open)...].dropLast()
        let column = item.column + item.text[...open].unicodeScalars.count
        let path = try PropertyPath(TextPart(inner, column: column), of: entity, in: model)
        let type: AttributeType? =
            if case .count = path.leaf { .integer } else { path.attributeType(of: entity, in: model) }
        guard let type else {
            throw PredicateSyntaxError(column: column, message: "\(inner) is an object: a total is of an attribute")
        }
        guard function.type(of: type) != nil else {
            throw PredicateSyntaxError(column: column, message: "\(inner) is \(type): \(function.name) is for numbers")
        }
        self = .function(function, path)
    }

    public func text(of entity: EntityDescription, in model: ManagedObjectModel) -> String {
        switch self {
        case .count: "count"
        case .function(let function, let path): "\(function.name)(\(path.text(of: entity, in: model)))"
        }
    }
}
