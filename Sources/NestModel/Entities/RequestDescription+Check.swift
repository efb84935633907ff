extension RequestDescription {
    /// Returns what is wrong with the request in a model; `nil` if clients can use it with values of the right types.
    package func fault(in model: ManagedObjectModel) -> String? {
        guard let entity = model.entity(self.entity) else { return "its entity is not in the model" }
        if let source, model.entity(source) == nil { return "its source is not in the model" }
        do throws(PredicateSyntaxError) {
            _ = try [OrderingTerm](self.sort, of: entity, in: model)
        } catch  where !self.sort.isEmpty {
            return "its sort keys '\(self.sort)' cannot be read: \(error)"
        } catch {
            // No keys are the order of the ids.
        }
        do throws(PredicateSyntaxError) {
            // The types of other variables are those that they are compared with.
            let text = try RequestText(self.predicate).bound { (variable) throws(PredicateSyntaxError) -> String in
                guard variable.name == Self.sourceVariable else {
                    return (["$" + variable.name] + variable.path).joined(separator: ".")
                }
                return try self.sample(variable, model)
            }
            try RequestText.check(text, of: entity, in: model)
            return nil
        } catch {
            return "its predicate '\(self.predicate)' cannot be read: \(error.message)"
        }
    }

    /// Returns a value of the type that `$FETCH_SOURCE` or a path from it has.
    private func sample(_ variable: RequestText.Variable, _ model: ManagedObjectModel) throws(PredicateSyntaxError)
        -> String
    {
        guard let source = self.source.flatMap({ model.entity($0) }) else {
            throw PredicateSyntaxError(column: 1, message: "$\(Self.sourceVariable) is for fetched properties")
        }
        guard !variable.path.isEmpty else { return "1" }
        let path = try PropertyPath(variable.path.joined(separator: "."), of: source, in: model)
        switch path.attributeType(of: source, in: model) {
        case nil: return "1"
        case .string, .uri: return "\"\""
        case .boolean: return "YES"
        case .date: return "2001-01-01"
        case .data, .largeData, .largeText: return "data(\"\")"
        case .uuid: return "uuid(\"01234567-89ab-cdef-0123-456789abcdef\")"
        case .integer, .integer16, .integer32, .double, .float, .decimal: return "1"
        }
    }
}

extension FetchPredicate {
    /// Returns a value as the text of a predicate writes it. `isDecimal`: it is compared with a decimal.
    public static func literal(_ value: AttributeValue, isDecimal: Bool = false) -> String {
        PredicatePrinter.text(value, isDecimal: isDecimal)
    }
}
