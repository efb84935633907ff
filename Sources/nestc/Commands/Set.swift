import ArgumentParser
import NestClient
import NestFormats
import NestModel

struct SetValues: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change values of an object.",
        discussion: """
            Examples:
              nestc set 2 title="Oat milk" done=yes
              nestc set 2 note=                          the empty text
              nestc set 2 note:=null                     no value at all
              nestc set 2 done=yes --expect-revision 7   only if unchanged since revision 7

            Values are read by the attribute's type: yes/no, numbers, dates (2026-11-21T09:30:00Z), base64 for data.
            A to-one relationship takes the id it is to point to.
            """
    )

    @Argument(help: ArgumentHelp("The object.", valueName: "id"))
    var id: IDArgument

    @Argument(help: ArgumentHelp("What to set.", valueName: "name=value"))
    var assignments: [String]

    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let model = try await client.model()
        let object = try await client.object(self.id.id)
        guard let entity = model.entity(object.entity) else {
            throw CommandFailure(.protocolMismatch, "the model has no entity \(object.entity.rawValue)")
        }
        let values = try self.assignments.map { try Self.assignment($0, entity) }
        let transaction = Transaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            preconditions: self.checking.preconditions([self.id.id]),
            mutations: [.update(.object(self.id.id), values: values)]
        )
        try report(try await client.transaction(transaction), self, &output)
    }

    private static func assignment(_ text: String, _ entity: EntityDescription) throws -> PropertyAssignment {
        guard let equals = text.firstIndex(of: "=") else {
            throw CommandFailure(.usage, "'\(text)' is no name=value")
        }
        var name = text[..<equals]
        let value = String(text[text.index(after: equals)...])
        let isNull = name.hasSuffix(":")
        if isNull { name = name.dropLast() }
        guard !isNull || value == "null" else { throw CommandFailure(.usage, "after ':=' only null may stand") }
        let asked = name == "id_" ? "id" : String(name)
        guard let property = entity.propertyNumber(named: asked) else {
            let names = entity.storedProperties.compactMap(entity.propertyName).map(RowPrinter.name)
            throw CommandFailure(.usage, "\(entity.name) has no '\(name)'; it has \(names.joined(separator: ", "))")
        }
        if isNull { return PropertyAssignment(property, .value(.null)) }
        if let attribute = entity.attribute(property) {
            return PropertyAssignment(property, .value(try ValueText.value(value, for: attribute)))
        }
        guard entity.relationship(property)?.isToMany == false else {
            throw CommandFailure(.usage, "\(name) is to many; set the other side, or use 'nestc mv'")
        }
        guard let target = IDArgument(argument: value) else {
            throw CommandFailure(.usage, "\(name) takes the id of an object, not '\(value)'")
        }
        return PropertyAssignment(property, .reference(.object(target.id)))
    }
}

/// What `set`, `mv` and `rm` say when it is done: nothing for people, unless nothing was done.
func report(_ receipt: Receipt, _ command: some NestCommand, _ output: inout Output) throws {
    if command.global.json {
        try output.line(receipt.json)
    } else if !receipt.isChanged {
        command.note("nothing to change")
    }
}
