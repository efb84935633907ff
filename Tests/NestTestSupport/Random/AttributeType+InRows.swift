import NestModel

extension AttributeType {
    /// The types whose values are in rows. Random models have only these: a large value must be sent first.
    package static let inRows = Self.allCases.filter { !$0.isLarge }
}
