// What a program says to a client is NestModel's: one import is enough.
@_exported import NestModel
