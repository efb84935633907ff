/// A function of the values of many objects that gives one value: Core Data's collection operators. Null values do not
/// count.
public enum AggregateFunction: UInt8, Sendable, CaseIterable {
    /// The exact sum; of nothing 0.
    case sum = 1
    /// The least value in the order of its type; of nothing null.
    case minimum = 2
    /// The greatest value; of nothing null.
    case maximum = 3
    /// The sum divided by the number of values; of nothing null. An integer's or decimal's average is a decimal.
    case average = 4

    /// The name after the `@` of a path.
    public var name: String {
        switch self {
        case .sum: "sum"
        case .minimum: "min"
        case .maximum: "max"
        case .average: "avg"
        }
    }

    public init?(name: String) {
        guard let function = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = function
    }

    /// The most digits of an average after the point. The last one is rounded half to even.
    public static let averageFractionDigitsMax = 18

    /// Returns the type of the result for values of a type, or `nil` if the function does not take them: only numbers
    /// have a sum and an average.
    public func type(of values: AttributeType) -> AttributeType? {
        switch (self, values) {
        case (_, .largeData), (_, .largeText): nil
        case (.minimum, _), (.maximum, _): values
        case (.sum, .integer), (.sum, .integer16), (.sum, .integer32): .integer
        case (.sum, .decimal), (.average, .decimal): .decimal
        case (.average, .integer), (.average, .integer16), (.average, .integer32): .decimal
        case (.sum, .double), (.sum, .float), (.average, .double), (.average, .float): .double
        default: nil
        }
    }

    /// Whether it is one of the values, by their order.
    package var isOfOrder: Bool { self == .minimum || self == .maximum }

    /// Whether the result may be null.
    package var isOptional: Bool { self != .sum }
}
