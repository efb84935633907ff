extension JSONWriter {
    /// Writes the members of an item. Leaves out a note, mark or `extra` that the item does not have.
    mutating func item(_ row: OutlineRow, _ fields: OutlineFields) {
        self.field(fields.title, row.title)
        if let name = fields.note, let note = row.note { self.field(name, note) }
        if let name = fields.done, row.done { self.field(name, true) }
        for attribute in row.attributes {
            self.key(attribute.name)
            self.element(attribute.value)
        }
        guard let extra = row.extra else { return }
        self.key("extra")
        self.element(JSONElement(extra: extra))
    }
}
