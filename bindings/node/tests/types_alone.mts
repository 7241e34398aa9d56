// The types of the package, checked as they are.
export * from 'tenon'
export { default } from 'tenon'
