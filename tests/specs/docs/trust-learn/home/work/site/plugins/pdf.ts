export const write = () => "written";
